"""Lock of a run while a process works on it."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from ..files.regular_file import check_regular
from .manifest_file import LOCK


def name_lock(shard: tuple[int, int] | None) -> str:
    """Return the name of the file that a process locks in a run's folder, or in that of a shard's run."""
    return add_shard(LOCK, shard)


def add_shard(name: str, shard: tuple[int, int] | None) -> str:
    """Return the name of a file of which the whole run and each shard have their own."""
    return name if shard is None else f"{name}-{shard[0]}-of-{shard[1]}"


def is_locked(folder: Path, shard: tuple[int, int] | None = None) -> bool:
    """Return whether a process works on the run in a folder; True if that cannot be determined."""
    file = folder / name_lock(shard)
    try:
        # reading a run must leave nothing in its folder, and locking empties the file that a link leads to
        check_regular(file.lstat(), file)
    except OSError:
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        # no process can work in a folder that may not be written
        return os.access(folder, os.W_OK)
