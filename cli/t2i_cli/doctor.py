"""`t2i doctor`: versions, devices, memory and cache of this machine, and problems with the installation."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from t2i_core.api.cache_folder import find_cache_folder
from t2i_core.api.errors import T2IError
from t2i_core.api.terminal import print_json, write_line
from t2i_core.files.byte_size import format_size
from t2i_core.storage.environments import list_environments
from t2i_registry import Registry, scan
from t2i_registry.discovery import Catalogue
from t2i_registry.plugin_check import PluginCheck, check_plugins

from .machine import (
    describe_folder,
    describe_hub,
    describe_terminal,
    list_devices,
    list_variables,
    measure_memory,
)
from .terminal import keep_stdout_clean

PACKAGES = (
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
    "huggingface-hub",
)
"""Libraries whose version matters to most problems, besides t2i's own distributions."""


_ANY_DEVICE = "cpu"
"""The device that weights are looked for; any has the same, and to find the best one takes torch."""


def examine(as_json: bool) -> None:
    """Examine the machine and the installed plugins, and print the findings."""
    with keep_stdout_clean():
        catalogue = scan()
        checked = check_plugins([*catalogue.entries, *catalogue.commands])
        packages, lacking = _list_packages(catalogue)
        found = {
            "python": f"{platform.python_version()} ({sys.executable})",
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "memory": measure_memory(),
            "devices": list_devices(),
            "cache": describe_folder(find_cache_folder()),
            "environments": _describe_environments(),
            "hub": describe_hub(),
            "environment": list_variables(),
            "terminal": describe_terminal(),
            "packages": packages,
            "lacking": lacking,
            "plugins": _describe_plugins(catalogue, checked),
            "weights": _list_weights(checked),
        }
    if as_json:
        print_json(found)
    else:
        _print(found)


def _list_packages(catalogue: Catalogue) -> tuple[dict[str, str | None], list[str]]:
    """Return the versions of t2i, its plugins and important libraries, and what t2i and the plugins lack."""
    own = {
        "t2i",
        "t2i-core",
        "t2i-registry",
        "t2i-cli",
        *(e.dist for e in (*catalogue.entries, *catalogue.commands)),
    }
    there = sorted(name for name in own if _find_version(name))
    versions = {name: _find_version(name) for name in (*there, *PACKAGES)}
    optional: dict[str, list[str]] = {}
    lacking = dict.fromkeys(text for name in there for text in _list_lacking(name, optional))
    for wanted, extras in optional.items():
        lacking[f"{wanted} is not installed (optional): pip install {' or '.join(map(repr, extras))}"] = None
    return versions, list(lacking)


def _list_lacking(name: str, optional: dict[str, list[str]]) -> Iterator[str]:
    """Yield what is wrong with the distributions that one distribution needs.

    Args:
        name: The distribution.
        optional: Receives the extras that would install each distribution that is not there.
    """
    own = distribution(name)
    extras = own.metadata.get_all("Provides-Extra") or ()
    for text in own.requires or ():
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        marker = wanted.marker
        needed = marker is None or marker.evaluate({"extra": ""})
        extra = next((each for each in extras if marker and marker.evaluate({"extra": each})), None)
        here = _find_version(wanted.name)
        install = f"pip install '{wanted.name}{wanted.specifier}'"
        if here is not None and (needed or extra) and not wanted.specifier.contains(here, prereleases=True):
            yield f"{wanted.name} {here} does not fit {name}: {install}"
        elif here is None and needed:
            yield f"{wanted.name} is not installed, and {name} needs it: {install}"
        elif here is None and extra:
            optional.setdefault(wanted.name, []).append(f"{name}[{extra}]")


def _describe_environments() -> list[dict[str, Any]]:
    """Return the environments of components in the cache, the one that was used last at the end."""
    return [
        {
            "requirements": list(record.requirements),
            "versions": dict(record.versions),
            "bytes": record.bytes,
            "used": datetime.fromtimestamp(record.used, UTC).isoformat(timespec="seconds"),
        }
        for _, record in list_environments(find_cache_folder())
    ]


@cache
def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


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
            lacks = find_missing_weights(registry.settle(entry, entry.name, {}), _ANY_DEVICE)
        except T2IError as error:
            found["unknown"].append(f"{name}: {error}")
        else:
            found["missing" if lacks else "here"].append(name)
    return found


def _print(found: Mapping[str, Any]) -> None:
    memory, plugins, weights = (found[name] for name in ("memory", "plugins", "weights"))
    total, free = memory["total"], memory["free"]
    lines = {
        "python": found["python"],
        "platform": f"{found['platform']}, {found['cpus']} CPUs",
        "memory": f"{format_size(total)}, {format_size(free)} free" if total and free else "not known",
        "devices": "; ".join(found["devices"]),
        "cache": _format_place(found["cache"]),
        "hub": _format_hub(found["hub"]),
        "settings": ", ".join(f"{name}={value}" for name, value in found["environment"].items()) or "-",
        "terminal": _format_terminal(found["terminal"]),
        "packages": _format_packages(found["packages"]),
        "weights": f"here: {', '.join(weights['here']) or '-'}; missing: {', '.join(weights['missing']) or '-'}",
        "plugins": f"{plugins['found']} components, {len(plugins['broken'])} broken",
    }
    for name, text in lines.items():
        write_line(f"{name + ':':<11}{text}")
    for each in found["environments"]:
        asked = ", ".join(each["requirements"])
        write_line(f"environment: {asked}: {format_size(each['bytes'])}, last used {each['used'][:10]}")
    if weights["missing"]:
        write_line("t2i prefetch NAME downloads missing weights")
    for each in found["lacking"]:
        write_line(f"package: {each}", fg="yellow")
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


def _format_place(place: Mapping[str, Any]) -> str:
    size = "cannot be read" if place["bytes"] is None else format_size(place["bytes"])
    return f"{place['folder']}: {size}, {_format_disk(place)}"


def _format_disk(place: Mapping[str, Any]) -> str:
    return f"{format_size(place['free'])} free on its disk{'' if place['writable'] else ', cannot be written'}"


def _format_packages(packages: Mapping[str, str | None]) -> str:
    """Return the versions, those of t2i's own distributions once if all have the same."""
    own = {name: number for name, number in packages.items() if name.startswith("t2i")}
    others = {name: number for name, number in packages.items() if number and name not in own}
    shown = {"t2i": f"{packages['t2i-core']} (all {len(own)})"} if len(set(own.values())) == 1 else own
    return ", ".join(f"{name} {number}" for name, number in {**shown, **others}.items())


def _format_hub(hub: Mapping[str, Any] | None) -> str:
    if hub is None:
        return "huggingface_hub is not installed"
    offline = ", offline" if hub["offline"] else ""
    return f"{hub['folder']}: {_format_disk(hub)}, {'a token' if hub['token'] else 'no token'}{offline}"


def _format_terminal(terminal: Mapping[str, Any]) -> str:
    kind = f"{terminal['columns']} columns" if terminal["is_terminal"] else "output is not a terminal"
    return f"{kind}, {terminal['encoding'] or 'no encoding'}, {terminal['language'] or 'no language'}"
