"""The GPUs of this machine, as its driver lists them, without importing torch."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 5
"""Time limit for the driver's tool."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that names the GPUs that a process may use, by index or identifier, until the first unknown one."""


@dataclass(frozen=True)
class Gpu:
    """One GPU.

    Attributes:
        index: Its number among all GPUs of the machine.
        identifier: Its identifier, `GPU-...`.
        name: The product's name.
        total: Memory in MiB, as the driver writes it.
        free: Free memory in MiB, as the driver writes it.
        driver: Version of the driver.
    """

    index: str
    identifier: str
    name: str
    total: str
    free: str
    driver: str


def read_torch_build() -> str | None:
    """Return what torch is built for, `cuda 12.8`, `rocm 6.4` or `cpu`; None if it is not installed."""
    try:
        found = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        found = None
    if found is None or not found.origin:
        return None
    try:
        text = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        text = ""
    for name, variable in (("cuda", "cuda"), ("rocm", "hip")):
        if version := re.search(rf"^{variable}\b.*=\s*['\"]([\d.]+)", text, re.MULTILINE):
            return f"{name} {version[1]}"
    return "cpu"


def list_gpus() -> tuple[list[Gpu], str]:
    """Return the GPUs that the driver lists, and a note if they are not known."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [], "no nvidia-smi: GPUs are not known"
    query = "--query-gpu=index,uuid,name,memory.total,memory.free,driver_version"
    try:
        done = subprocess.run(
            [tool, query, "--format=csv,noheader,nounits"],
            capture_output=True, text=True, timeout=_SECONDS, check=True,
        )  # fmt: skip
        return [_read_line(line) for line in done.stdout.splitlines()], ""
    except subprocess.TimeoutExpired:
        return [], f"nvidia-smi does not answer within {_SECONDS} s"
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return [], f"nvidia-smi fails: {' '.join(str(error).split())}"


def _read_line(line: str) -> Gpu:
    index, identifier, name, total, free, driver = line.split(", ")
    return Gpu(index, identifier, name, total, free, driver)


def count_usable_gpus() -> int:
    """Return the number of GPUs that torch can use in this process, as far as its build and the driver tell."""
    if not (read_torch_build() or "").startswith("cuda"):
        return 0
    return len(select_visible(list_gpus()[0], os.environ.get(VISIBLE)))


def select_visible(gpus: Sequence[Gpu], visible: str | None) -> list[Gpu]:
    """Return the GPUs that `CUDA_VISIBLE_DEVICES` leaves to a process, in its order.

    Args:
        gpus: The GPUs of the machine.
        visible: The variable's value; None if it is not set. As CUDA does, it is read up to the first entry that
            names no GPU. A slice of a GPU (`MIG-...`) is none of these: its process has that one device.
    """
    if visible is None:
        return list(gpus)
    found: list[Gpu] = []
    for name in map(str.strip, visible.split(",")):
        named = [
            gpu for gpu in gpus if gpu.index == name or (name[:4] == "GPU-" and gpu.identifier.startswith(name))
        ]
        if len(named) != 1:
            break
        found += named
    return found
