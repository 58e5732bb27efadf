"""Plugins for tests, without installing them: a `*.dist-info` folder and modules in a folder on `sys.path`."""

from __future__ import annotations

import importlib
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path


def fake_dist(
    folder: Path,
    name: str,
    entry_points: Mapping[str, Mapping[str, str]] | str,
    modules: Mapping[str, str] | None = None,
    version: str = "1.0",
    summary: str = "",
    requires: tuple[str, ...] = (),
) -> None:
    """Write a distribution into a folder, as an installer would.

    Args:
        folder: The folder.
        name: Name of the distribution.
        entry_points: By group, targets by name; or the text of the file.
        modules: Source text by dotted module name; packages are created as needed.
        version: Version of the distribution.
        summary: Summary in its metadata.
        requires: Its requirements.
    """
    info = folder / f"{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
    info.mkdir(parents=True)
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Summary: {summary or f'The distribution {name}.'}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    if not isinstance(entry_points, str):
        entry_points = "\n".join(
            f"[{group}]\n" + "\n".join(f"{key} = {target}" for key, target in names.items())
            for group, names in entry_points.items()
        )
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    for module, source in (modules or {}).items():
        *packages, last = module.split(".")
        place = folder
        for package in packages:
            place /= package
            place.mkdir(exist_ok=True)
            (place / "__init__.py").touch()
        (place / f"{last}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    importlib.invalidate_caches()


def forget_modules(folder: Path) -> None:
    """Remove modules that were imported from a folder, so that the next test imports its own."""
    within = f"{folder}{os.sep}"  # a `Path` for each of thousands of modules would take a quarter of a second
    for name, module in sys.modules.copy().items():  # `list` is not atomic: a finalizer may import meanwhile
        file = getattr(module, "__file__", None)
        if file is not None and file.startswith(within):
            del sys.modules[name]
