"""Who uses the cache just now: it is opened and cleaned under one lock, and never cleaned under anybody."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

_PATIENCE = 600
"""Seconds to wait for another process that opens or cleans the cache."""

_USERS = "in-use"
"""Folder with a locked file for each that uses the cache."""


def opening(folder: Path) -> FileLock:
    """The lock under which the cache is opened, and cleaned."""
    return FileLock(folder / ".opening.lock", timeout=_PATIENCE)


@contextlib.contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Let nobody clean the cache meanwhile. Raises OSError where its folder cannot be written."""
    path = folder / _USERS / f"{os.getpid()}-{uuid.uuid4().hex}"
    with opening(folder):  # else a cleaning that begins now would not see it
        path.parent.mkdir(exist_ok=True)
        held = FileLock(path, timeout=0)
        held.acquire()
    try:
        yield
    finally:
        held.release()
        with contextlib.suppress(OSError):  # a cleaning has found it let go, and removes it itself
            path.unlink(missing_ok=True)


def users(folder: Path) -> int:
    """How many hold the cache in use. What killed processes have left is swept; wants the lock `opening` held."""
    count = 0
    for path in (folder / _USERS).glob("*-*"):
        try:
            with FileLock(path, timeout=0):
                pass
            path.unlink(missing_ok=True)
        except Timeout:
            count += 1
    return count
