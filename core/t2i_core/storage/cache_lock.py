"""File locks: the cache is never cleaned while another process uses it."""

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
"""Folder with one locked file for each user of the cache."""

_USER = re.compile(r"[0-9]+-[0-9a-f]{32}")
"""The name of such a file: the process and a random number."""


def lock_opening(folder: Path) -> FileLock:
    """Return the lock under which the cache is opened and cleaned."""
    return FileLock(folder / ".opening.lock", timeout=_PATIENCE)


@contextlib.contextmanager
def mark_in_use(folder: Path) -> Iterator[None]:
    """Keep the cache from being cleaned while the block runs. Raises OSError if the folder cannot be written."""
    path = folder / _USERS / f"{os.getpid()}-{uuid.uuid4().hex}"
    with lock_opening(folder):  # otherwise a cleaning that begins now would not see it
        if is_link(path.parent):  # cleaning follows no link, so it would find no user here
            raise OSError(errno.ELOOP, f"{_USERS} is a link")
        path.parent.mkdir(exist_ok=True)
        held = FileLock(path, timeout=0)
        held.acquire()
    try:
        yield
    finally:
        held.release()
        with contextlib.suppress(OSError):  # a cleaning may remove it at the same moment
            path.unlink(missing_ok=True)


def list_users(folder: Path) -> int:
    """Return the number of users of the cache, and remove the files of those that were killed.

    The caller must hold the lock of `lock_opening`. Files with other names, and links, are not touched.
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
