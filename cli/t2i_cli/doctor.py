"""`t2i doctor`: versions, devices, memory and cache of this machine, and problems with the installation."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.errors import T2IError
from t2i_core.api.terminal import print_json, write_line
from t2i_core.files.byte_size import format_size
from t2i_core.storage.cache import measure_folder
from t2i_registry import Registry, scan
from t2i_registry.discovery import Catalogue
from t2i_registry.plugin_check import PluginCheck, check_plugins

from .terminal import keep_stdout_clean

PACKAGES = (
    "t2i-core",
    "t2i-registry",
    "t2i-cli",
    "numpy",
    "pandas",
    "scipy",
    "pillow",
    "pydantic",
    "pluggy",
    "safetensors",
    "torch",
    "transformers",
    "diffusers",
)


def examine(as_json: bool) -> None:
    """Examine the machine and the installed plugins, and print the findings."""
    with keep_stdout_clean():
        catalogue = scan()
        checked = check_plugins([*catalogue.entries, *catalogue.commands])
        found = {
            "python": f"{platform.python_version()} ({sys.executable})",
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "memory": _measure_memory(),
            "devices": _list_devices(),
            "cache": _describe_folder(find_cache_folder()),
            "packages": {name: _find_version(name) for name in PACKAGES},
            "plugins": _describe_plugins(catalogue, checked),
            "weights": _list_weights(checked),
        }
    if as_json:
        print_json(found)
    else:
        _print(found)


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _measure_memory() -> dict[str, int | None]:
    """Return the total and free memory in bytes; None if the system does not report it."""
    page = _read_system("SC_PAGE_SIZE")
    sizes = {"total": _read_system("SC_PHYS_PAGES"), "free": _read_system("SC_AVPHYS_PAGES")}
    return {name: pages * page if pages and page else None for name, pages in sizes.items()}


def _read_system(name: str) -> int | None:
    known = getattr(os, "sysconf_names", {})
    return os.sysconf(name) if name in known else None


def _list_devices() -> list[str]:
    """Return a line for each device that torch finds."""
    if importlib.util.find_spec("torch") is None:
        return ["cpu (torch is not installed)"]
    try:
        import torch
    except Exception as error:
        return [f"cpu (torch does not import: {type(error).__name__}: {error})"]
    found = [
        f"cuda:{i} {torch.cuda.get_device_name(i)}, "
        f"{format_size(torch.cuda.get_device_properties(i).total_memory)}"
        for i in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


def _describe_folder(folder: Path) -> dict[str, Any]:
    """Return a folder's path, whether it is writable, its size and the space left on its disk.

    The size of a folder that cannot be read is None.
    """
    place = folder.absolute()
    existing = next(p for p in (place, *place.parents) if os.access(p, os.F_OK))  # Path.exists may raise
    return {
        "folder": str(folder),
        "writable": os.access(existing, os.W_OK),
        "bytes": measure_folder(folder) if os.access(existing, os.R_OK | os.X_OK) else None,
        "free": shutil.disk_usage(existing).free,
    }


def _describe_plugins(catalogue: Catalogue, checked: Sequence[PluginCheck]) -> dict[str, Any]:
    return {
        "found": len(checked),
        "broken": [
            {"kind": c.entry.kind, "name": c.entry.name, "error": c.error} for c in checked if c.status == "broken"
        ],
        "slow": [
            {"kind": c.entry.kind, "name": c.entry.name, "seconds": round(c.seconds, 2)} for c in checked if c.slow
        ],
        "unreadable": list(catalogue.problems),
        "disabled": [e.full_name for e in catalogue.disabled],
    }


def _list_weights(checked: Sequence[PluginCheck]) -> dict[str, list[str]]:
    """Return the models and judges whose weights are on this machine, and those whose weights are missing.

    Only components that need no argument are checked. A component with another problem is listed under `unknown`
    with the problem. Broken plugins are left out.
    """
    from t2i_core.engine.lifecycle import find_missing_weights

    registry = Registry()
    found: dict[str, list[str]] = {"here": [], "missing": [], "unknown": []}
    for entry in (c.entry for c in checked if c.entry.kind in ("generator", "judge") and not c.error):
        described = registry.describe(entry)
        info = described.info
        if info.loading.prefetch is None or (info.needs_argument and described.argument is None):
            continue
        name = registry.name_option(entry)
        try:
            lacks = find_missing_weights(registry.settle(entry, entry.name, {}))
        except T2IError as error:
            found["unknown"].append(f"{name}: {error}")
        else:
            found["missing" if lacks else "here"].append(name)
    return found


def _print(found: dict[str, Any]) -> None:
    cache, memory, plugins, weights = (found[name] for name in ("cache", "memory", "plugins", "weights"))
    size = "cannot be read" if cache["bytes"] is None else format_size(cache["bytes"])
    writable = "" if cache["writable"] else ", cannot be written"
    total, free = memory["total"], memory["free"]
    lines = {
        "python": found["python"],
        "platform": f"{found['platform']}, {found['cpus']} CPUs",
        "memory": f"{format_size(total)}, {format_size(free)} free" if total and free else "not known",
        "devices": "; ".join(found["devices"]),
        "cache": f"{cache['folder']}: {size}, {format_size(cache['free'])} free on its disk{writable}",
        "packages": ", ".join(f"{name} {number}" for name, number in found["packages"].items() if number),
        "weights": f"here: {', '.join(weights['here']) or '-'}; missing: {', '.join(weights['missing']) or '-'}",
        "plugins": f"{plugins['found']} components, {len(plugins['broken'])} broken",
    }
    for name, text in lines.items():
        write_line(f"{name + ':':<11}{text}")
    if weights["missing"]:
        write_line("t2i prefetch NAME downloads missing weights")
    for each in weights["unknown"]:
        write_line(f"cannot tell whether the weights are here: {each}", fg="yellow")
    for each in plugins["broken"]:
        write_line(f"broken: {each['kind']} {each['name']}: {each['error']}", fg="red")
    for each in plugins["slow"]:
        write_line(f"slow: {each['kind']} {each['name']} takes {each['seconds']} s to import", fg="yellow")
    for problem in plugins["unreadable"]:
        write_line(f"unreadable: {problem}", fg="red")
    if plugins["disabled"]:
        write_line(f"disabled: {', '.join(plugins['disabled'])}")
