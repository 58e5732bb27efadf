"""Safe reading of files from elsewhere: regular files of a bounded size, inside a folder, without ever blocking.

A run folder may come from somebody else. A named pipe in it would block its reader for ever, `/dev/zero` would
fill the memory, and a link could lead to any other file of the reader.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

MANIFEST_BYTES = 256 << 20
"""Limit for run.json."""

TABLE_BYTES = 4 << 30
"""Limit for a table of a run."""

IMAGE_BYTES = 512 << 20
"""Limit for an image file."""

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}

_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))
"""Flags for opening files; Windows has neither of the first two, nor named pipes in folders."""


class UnsafeFile(OSError):
    """A file that is refused because of its kind, its size or where it leads; `strerror` gives the reason."""


def open_regular(path: Path, limit: int, within: Path | None = None) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        path: The file. It may be a link.
        limit: The most bytes that the file may have.
        within: The folder that the file must lie in after all links are followed. The folder itself may be a link.
            If None, the file may lie anywhere.

    Raises:
        UnsafeFile: If it is not a regular file, is larger than the limit, or lies outside of `within`.
        OSError: If it cannot be opened for another reason.
    """
    try:
        real, found = str(path), os.lstat(path)
        if within is not None or stat.S_ISLNK(found.st_mode):
            real = os.path.realpath(path)  # checks each folder on the way: too slow for each of many images
            if within is not None and not _is_below(real, os.path.realpath(within)):
                raise UnsafeFile(errno.EACCES, f"leads out of the folder {within}", str(path))
            found = os.lstat(real)
        # before it is opened, because opening a device may already do something
        _check(found, limit, path)
        descriptor = os.open(real, _FLAGS)
    except ValueError as error:  # a NUL character, or half of a surrogate pair
        raise UnsafeFile(errno.EINVAL, f"not a valid file name ({error})", str(path)) from error
    try:
        _check(os.fstat(descriptor), limit, path)  # another file may have taken its place
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, limit: int, within: Path | None = None) -> bytes:
    """Return the content of a regular file. See `open_regular` for arguments and errors."""
    with open_regular(path, limit, within) as file:
        return file.read(os.fstat(file.fileno()).st_size)  # Python allocates as much memory as it is told to read


def is_inside(path: str | Path, folder: Path) -> bool:
    """Return whether a path lies in a folder, or is it, after all links are followed."""
    return _is_below(os.path.realpath(path), os.path.realpath(folder))


def _is_below(path: str, folder: str) -> bool:
    """Return whether a path without links lies in a folder without links, or is it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def check_regular(found: os.stat_result, path: Path) -> None:
    """Check that a path leads to a regular file.

    Args:
        found: The status of the path.
        path: The path, for the message.

    Raises:
        UnsafeFile: If it is not a regular file.
    """
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise UnsafeFile(errno.EINVAL, f"is {kind}, not a regular file", str(path))


def _check(found: os.stat_result, limit: int, path: Path) -> None:
    check_regular(found, path)
    if found.st_size > limit:
        raise UnsafeFile(errno.EFBIG, f"has {found.st_size:,} bytes, more than the limit of {limit:,}", str(path))
