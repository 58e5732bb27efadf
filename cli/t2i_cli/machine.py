"""Facts about this machine for `t2i doctor`, without importing a heavy library, calling a server or writing."""

from __future__ import annotations

import importlib.util
import locale
import os
import platform
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from t2i_core.engine.gpus import list_gpus, read_torch_build
from t2i_core.files.byte_size import format_size
from t2i_core.files.write_check import find_write_obstacle
from t2i_core.storage.cache import measure_folder

_VARIABLES = (
    *("T2I_CACHE_DIR", "T2I_CACHE_LIMIT", "T2I_DISABLE_PLUGINS", "HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT"),
    *("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "TORCH_HOME", "CUDA_VISIBLE_DEVICES"),
    *("OMP_NUM_THREADS", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "TMPDIR"),
)
"""Environment variables that change where files lie and which servers are asked."""

_ADDRESSES = frozenset({"HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
"""Those that hold addresses, which may contain a password; in paths, `@` is an ordinary character."""


def measure_memory() -> dict[str, int | None]:
    """Return the total and free memory in bytes; None if the system does not report it."""
    page = _read_system("SC_PAGE_SIZE")
    sizes = {"total": _read_system("SC_PHYS_PAGES"), "free": _read_system("SC_AVPHYS_PAGES")}
    return {name: pages * page if pages and page else None for name, pages in sizes.items()}


def _read_system(name: str) -> int | None:
    known = getattr(os, "sysconf_names", {})
    return os.sysconf(name) if name in known else None


def list_devices() -> list[str]:
    """Return a line for each device that torch can use, as far as its build and the driver tell.

    torch itself is not imported, which takes seconds; whether it works with the driver is not known.
    """
    build = read_torch_build()
    if build is None:
        return ["cpu (torch is not installed)"]
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        return ["mps", "cpu"]
    if build != "cpu":
        gpus, note = _describe_gpus()
        return [*gpus, f"cpu{f' ({note})' if note else ''}"]
    gpus, _ = _describe_gpus()
    without = f" ({len(gpus)} GPUs are not used: the installed torch is built for cpu only)" if gpus else ""
    return [f"cpu{without}"]


def _describe_gpus() -> tuple[list[str], str]:
    """Return a line for each GPU that the driver lists, and a note if that is not known."""
    gpus, note = list_gpus()
    return [
        f"cuda:{gpu.index} {gpu.name}, {_format_mib(gpu.total)}, "
        f"{_format_mib(gpu.free)} free (driver {gpu.driver})"
        for gpu in gpus
    ], note


def _format_mib(text: str) -> str:
    """Return a number of MiB as a size; other texts (`[N/A]`) stay."""
    return format_size(int(text) * 2**20) if text.strip().isdecimal() else text


def describe_folder(folder: Path) -> dict[str, Any]:
    """Return a folder's path, whether it is writable, its size and the space left on its disk.

    The size of a folder that cannot be read is None.
    """
    place = folder.absolute()
    existing = next(p for p in (place, *place.parents) if os.access(p, os.F_OK))  # Path.exists may raise
    return {
        "folder": str(folder),
        "writable": find_write_obstacle(folder) is None,
        "bytes": measure_folder(folder) if os.access(existing, os.R_OK | os.X_OK) else None,
        "free": shutil.disk_usage(existing).free,
    }


def describe_hub() -> dict[str, Any] | None:
    """Return the folder of the Hugging Face hub's downloads, its space, and whether there is a token.

    Returns None if its client is not installed. The token is not read.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE)
    token = bool(os.environ.get("HF_TOKEN")) or Path(constants.HF_TOKEN_PATH).is_file()
    place = describe_folder(folder)
    return {**place, "bytes": None, "token": token, "offline": bool(constants.HF_HUB_OFFLINE)}


def list_variables() -> dict[str, str]:
    """Return the environment variables that matter and are set, addresses without user and password."""
    names = [name for each in _VARIABLES for name in (each, each.lower()) if name in os.environ]
    found = {name: os.environ[name] for name in dict.fromkeys(names)}
    return {name: _hide_user(text) if name.upper() in _ADDRESSES else text for name, text in found.items()}


def _hide_user(text: str) -> str:
    """Return an address without all that is before its last `@`, but for its scheme.

    It may have no scheme, and its password any character, so it is not parsed as an address.
    """
    user, at, host = text.rpartition("@")
    scheme = re.match(r"\s*(https?|socks\w*)://", user, re.IGNORECASE)
    return f"{scheme[0] if scheme else ''}***@{host}" if at else text


def describe_terminal() -> dict[str, Any]:
    """Return the encoding of the output, the language, whether it is a terminal, and its width."""
    return {
        "encoding": getattr(sys.__stdout__, "encoding", None),
        "language": ".".join(filter(None, locale.getlocale())) or None,
        "is_terminal": bool(sys.__stdout__ and sys.__stdout__.isatty()),
        "columns": shutil.get_terminal_size().columns,
    }
