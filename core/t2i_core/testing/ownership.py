"""Ownership of packages: no distribution may put files into, or describe itself from, another's package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path


def find_other_owners(packages: set[str], dist: Distribution) -> dict[str, str]:
    """Return the other installed distribution that has files of a package, by top-level name."""
    return {
        package: other.name
        for other in distributions()
        if other.name != dist.name
        for package in packages & _find_packages(other, packages)
    }


def list_packages(dist: Distribution) -> set[str]:
    """Return the top-level names that a distribution installs."""
    files = (Path(line.partition(",")[0]) for line in _read_record(dist).splitlines())
    return {
        file.parts[0].removesuffix(".py")
        for file in files
        if file.parts and not file.parts[0].endswith((".dist-info", ".pth", "..", "__pycache__"))
    }


def _find_packages(dist: Distribution, wanted: set[str]) -> set[str]:
    """Return the wanted top-level names that a distribution installs, or has in folders on the path."""
    record = "\n" + _read_record(dist)
    found = {name for name in wanted if f"\n{name}/" in record or f"\n{name}.py," in record}
    return found | {
        name for name in wanted for root in _read_roots(dist) if (root / name / "__init__.py").is_file()
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
