"""Who uses the cache just now: it is opened and cleaned under one lock, and never cleaned under anybody."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ..files.real_folder import is_link, open_folder

_PATIENCE = 600
"""Seconds to wait for another process that opens or cleans the cache."""

_USERS = "in-use"
"""Folder with a locked file for each that uses the cache."""

_USER = re.compile(r"[0-9]+-[0-9a-f]{32}")
"""The name of such a file: the process and a random number."""


def lock_opening(folder: Path) -> FileLock:
    """The lock under which the cache is opened, and cleaned."""
    return FileLock(folder / ".opening.lock", timeout=_PATIENCE)


@contextlib.contextmanager
def mark_in_use(folder: Path) -> Iterator[None]:
    """Let nobody clean the cache meanwhile. Raises OSError where its folder cannot be written."""
    path = folder / _USERS / f"{os.getpid()}-{uuid.uuid4().hex}"
    with lock_opening(folder):  # else a cleaning that begins now would not see it
        if is_link(path.parent):  # cleaning follows no link, and would find nobody here
            raise OSError(errno.ELOOP, f"{_USERS} is a link")
        path.parent.mkdir(exist_ok=True)
        held = FileLock(path, timeout=0)
        held.acquire()
    try:
        yield
    finally:
        held.release()
        with contextlib.suppress(OSError):  # a cleaning has found it let go, and removes it itself
            path.unlink(missing_ok=True)


def list_users(folder: Path) -> int:
    """Return how many use the cache, and remove the files of those that were killed.

    The lock `opening` must be held. Files of other names in that folder, and links, are not touched.
    """
    count = 0
    with open_folder(folder) as cache, cache.folder(_USERS) as held:
        for name in held.names():
            if _USER.fullmatch(name) and held.file(name):
                try:
                    with FileLock(folder / _USERS / name, timeout=0):
                        pass
                    held.remove(name)
                except Timeout:
                    count += 1
    return count
