"""`t2i doctor`: what this machine has, and what is wrong with the installation."""

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
from t2i_registry.checking import Checked, check
from t2i_registry.discovery import Catalogue

from .terminal import stdout_kept_clean

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
    """Print what was found."""
    with stdout_kept_clean():
        catalogue = scan()
        checked = check([*catalogue.entries, *catalogue.commands])
        found = {
            "python": f"{platform.python_version()} ({sys.executable})",
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "memory": _memory(),
            "devices": _devices(),
            "cache": _place(find_cache_folder()),
            "packages": {name: _version(name) for name in PACKAGES},
            "plugins": _plugins(catalogue, checked),
            "weights": _weights(checked),
        }
    if as_json:
        print_json(found)
    else:
        _print(found)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _memory() -> dict[str, int | None]:
    """Bytes of memory, where the system says so."""
    page = _system("SC_PAGE_SIZE")
    sizes = {"total": _system("SC_PHYS_PAGES"), "free": _system("SC_AVPHYS_PAGES")}
    return {name: pages * page if pages and page else None for name, pages in sizes.items()}


def _system(name: str) -> int | None:
    known = getattr(os, "sysconf_names", {})
    return os.sysconf(name) if name in known else None


def _devices() -> list[str]:
    """The devices that torch sees."""
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


def _place(folder: Path) -> dict[str, Any]:
    """A folder, whether it can be read and written, the bytes in it and those left on its disk.

    None are in one that cannot be read.
    """
    place = folder.absolute()
    existing = next(p for p in (place, *place.parents) if os.access(p, os.F_OK))  # Path.exists may raise
    return {
        "folder": str(folder),
        "writable": os.access(existing, os.W_OK),
        "bytes": measure_folder(folder) if os.access(existing, os.R_OK | os.X_OK) else None,
        "free": shutil.disk_usage(existing).free,
    }


def _plugins(catalogue: Catalogue, checked: Sequence[Checked]) -> dict[str, Any]:
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


def _weights(checked: Sequence[Checked]) -> dict[str, list[str]]:
    """Models and judges that fetch weights and need no argument, most of them presets: whether all of it is here.

    Those that something else is wrong with are `unknown`, with what it is; broken ones are left out.
    """
    from t2i_core.engine.lifecycle import find_missing_weights

    registry = Registry()
    found: dict[str, list[str]] = {"here": [], "missing": [], "unknown": []}
    for entry in (c.entry for c in checked if c.entry.kind in ("generator", "judge") and not c.error):
        described = registry.describe(entry)
        info = described.info
        if info.loading.prefetch is None or (info.needs_argument and described.argument is None):
            continue
        name = registry.option_name(entry)
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
        write_line("t2i prefetch NAME fetches what is missing")
    for each in weights["unknown"]:
        write_line(f"not known whether it is here: {each}", fg="yellow")
    for each in plugins["broken"]:
        write_line(f"broken: {each['kind']} {each['name']}: {each['error']}", fg="red")
    for each in plugins["slow"]:
        write_line(f"slow: {each['kind']} {each['name']} takes {each['seconds']} s to import", fg="yellow")
    for problem in plugins["unreadable"]:
        write_line(f"unreadable: {problem}", fg="red")
    if plugins["disabled"]:
        write_line(f"disabled: {', '.join(plugins['disabled'])}")
