"""Digests of code and weights, which keep the results of different versions apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from .regular_file import check_regular


def digest_file(path: Path) -> str:
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


def digest_files(parts: Iterable[Path | str]) -> str:
    """Return the SHA-256 (hex) over the contents of files and over texts (pinned revisions), in the given order.

    The files' names and places do not count.
    """
    total = hashlib.sha256()
    for part in parts:
        digest = digest_file(part) if isinstance(part, Path) else hashlib.sha256(part.encode()).hexdigest()
        total.update(bytes.fromhex(digest))
    return total.hexdigest()
