"""Errors that mean that a disk is full."""

from __future__ import annotations

import errno

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, a quota, a limit on file sizes."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error says that a file could not grow."""
    return isinstance(error, OSError) and error.errno in _FULL
