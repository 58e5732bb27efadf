"""The digest of a package's source files."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from pathlib import Path

from .digest import digest_file, digest_files


def is_in_package(module: str) -> bool:
    """Return whether a module is, or belongs to, a package with files."""
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
    return file is not None and Path(file).name == "__init__.py"


@lru_cache(maxsize=256)
def digest_sources(module: str, patterns: tuple[str, ...]) -> str:
    """Return the SHA-256 (hex) over source files of a module's package.

    Args:
        module: Name of the module. If it lies outside a package, only its own file counts; if it has no file, the
            digest is empty.
        patterns: Glob patterns relative to the package; files that match any of them count.

    Raises:
        ValueError: If a pattern matches no file.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return ""
    if not is_in_package(module):
        return digest_files([Path(file)])
    folder = Path(str(sys.modules[module.partition(".")[0]].__file__)).parent
    files: set[Path] = set()
    for pattern in patterns:
        matching = [p for p in folder.glob(pattern) if p.is_file() and "__pycache__" not in p.parts]
        if not matching:
            raise ValueError(f"the pattern {pattern!r} of {module} matches no file in {folder.name}")
        files |= set(matching)
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(path.relative_to(folder).as_posix().encode())
        total.update(bytes.fromhex(digest_file(path)))
    return total.hexdigest()
