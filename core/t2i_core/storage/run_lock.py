"""Lock of a run while a process works on it."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from ..files.regular_file import check_regular
from .manifest_file import LOCK

try:
    import fcntl
except ImportError:  # on Windows
    _fcntl = None
else:
    _fcntl = fcntl

_TO_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC"))


def name_lock(shard: tuple[int, int] | None) -> str:
    """Return the name of the file that a process locks in a run's folder, or in that of a shard's run."""
    return add_shard(LOCK, shard)


def add_shard(name: str, shard: tuple[int, int] | None) -> str:
    """Return the name of a file of which the whole run and each shard have their own."""
    return name if shard is None else f"{name}-{shard[0]}-of-{shard[1]}"


def is_locked(folder: Path, shard: tuple[int, int] | None = None) -> bool:
    """Return whether a process works on the run in a folder; True if that cannot be determined.

    Nothing in the folder changes. Any number of processes may look at the same time.
    """
    file = folder / name_lock(shard)
    try:
        # reading a run must leave nothing in its folder, and locking empties the file that a link leads to
        check_regular(file.lstat(), file)
    except OSError:
        return False
    try:
        return _is_locked_file(file)
    except OSError:
        # no process can work in a folder that may not be written
        return os.access(folder, os.W_OK)


def _is_locked_file(file: Path) -> bool:
    if _fcntl is None:
        try:
            with FileLock(file, timeout=0):
                return False
        except Timeout:
            return True
    descriptor = os.open(file, _TO_READ)
    try:
        # a shared lock, so that this is not taken for a run by another process that looks; a run that begins waits
        _fcntl.flock(descriptor, _fcntl.LOCK_SH | _fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(descriptor)
    return False
