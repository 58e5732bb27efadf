"""Ownership of packages: no distribution may put files into, or describe itself from, another's package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, distributions
from pathlib import Path


@dataclass(frozen=True)
class _Installed:
    """A distribution's name, its top-level names, and the folders that it puts on the path."""

    name: str
    packages: frozenset[str]
    roots: tuple[Path, ...]


def find_other_owners(packages: set[str], dist: Distribution) -> dict[str, str]:
    """Return the other installed distribution that has files of a package, by top-level name."""
    own = dist.name  # which parses its metadata each time
    return {
        package: other.name
        for other in _read_installed(tuple(sys.path))
        if other.name != own
        for package in packages
        if package in other.packages or any((root / package / "__init__.py").is_file() for root in other.roots)
    }


@lru_cache(maxsize=1)
def _read_installed(path: tuple[str, ...]) -> list[_Installed]:
    """Return all distributions on the path. To read them takes half a second, and each component asks."""
    return [
        _Installed(dist.name, frozenset(list_packages(dist)), tuple(_read_roots(dist))) for dist in distributions()
    ]


def list_packages(dist: Distribution) -> set[str]:
    """Return the top-level names that a distribution installs."""
    files = (Path(line.partition(",")[0]) for line in _read_record(dist).splitlines())
    return {
        file.parts[0].removesuffix(".py")
        for file in files
        if file.parts and not file.parts[0].endswith((".dist-info", ".pth", "..", "__pycache__"))
    }


def _read_record(dist: Distribution) -> str:
    """Return the list of a distribution's files; empty if it has none."""
    return dist.read_text("RECORD") or ""


def _read_roots(dist: Distribution) -> Iterator[Path]:
    """Yield the folders that an editable installation puts on the path."""
    for line in _read_record(dist).splitlines():
        name = line.partition(",")[0]
        if name.endswith(".pth") and "/" not in name:
            text = Path(str(dist.locate_file(name))).read_text(encoding="utf-8", errors="replace")
            yield from (Path(root) for root in text.splitlines() if Path(root).is_absolute())
