"""Digests of code and weights, so that what they made is never taken for the work of others."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from .regular_files import check_regular


def file_digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a regular file's content, remembered while its size and times stay the same.

    Raises:
        OSError: If it cannot be read, or is not a regular file: reading a named pipe or a device may never end.
    """
    stat = path.stat()
    check_regular(stat, path)
    return _file_digest(str(path), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _file_digest(path: str, size: int, mtime_ns: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_digest(parts: Iterable[Path | str]) -> str:
    """SHA-256 over the contents of files and over texts (pinned revisions), in the given order.

    The files' names and places do not count.
    """
    total = hashlib.sha256()
    for part in parts:
        digest = file_digest(part) if isinstance(part, Path) else hashlib.sha256(part.encode()).hexdigest()
        total.update(bytes.fromhex(digest))
    return total.hexdigest()


def in_package(module: str) -> bool:
    """Return whether a module is, or lies in, a package that has files of its own."""
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
    return file is not None and Path(file).name == "__init__.py"


@lru_cache(maxsize=256)
def sources_digest(module: str, patterns: tuple[str, ...]) -> str:
    """SHA-256 over those source files of a module's package that match any of the glob patterns.

    A module outside a package counts alone. One without a file has the digest of nothing: see `code_digest`.
    Raises ValueError where a pattern matches no file.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return ""
    if not in_package(module):
        return files_digest([Path(file)])
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
        total.update(bytes.fromhex(file_digest(path)))
    return total.hexdigest()
