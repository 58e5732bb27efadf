"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

_PART = re.compile(r"\.(?P<name>.+)\.[0-9a-f]+\.part")
"""Name of the file that `replace_file` writes: the final name and random digits.

Threads, processes and machines that share a folder may write the same file at one time."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""Flags that open a new file: opening fails if the name exists, even as a link."""


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Give a new, empty file beside `path` to write to; it becomes `path` when the block ends.

    If the block raises, `path` stays as it was. A reader sees the old file or all of the new one. If `path` is a
    link, the link is replaced and the file that it leads to is not touched.

    Raises:
        OSError: If `path` is a device, a pipe or a folder, or a link to a process's stream (`/dev/stdout`), which
            must not be replaced; or if the system does not allow the file.
    """
    with _replace(path) as (part, descriptor):
        os.close(descriptor)
        yield Path(part)


@contextlib.contextmanager
def _replace(path: Path) -> Iterator[tuple[str, int]]:
    """Give the new file of `replace_file` with a descriptor to write to it, which the block closes."""
    if not _is_replaceable(path):
        raise OSError(errno.EINVAL, "not a regular file; name a file to write to", str(path))
    # plain texts: a run writes one file for each sample, and each Path costs as much as a call of the system
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{os.urandom(4).hex()}.part")  # noqa: PTH118
    try:
        yield part, os.open(part, _NEW, 0o666)
        os.replace(part, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):  # it may not be there, nor its folder
            os.unlink(part)  # noqa: PTH108
        raise


def _is_replaceable(path: Path) -> bool:
    """Return whether a path is free, a regular file, or a link to a regular file or to a free path."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return True
    if not stat.S_ISLNK(mode):
        return stat.S_ISREG(mode)
    return "/proc/" not in str(path.readlink()) and (path.is_file() or not path.exists())


def write_whole(path: Path, data: bytes) -> os.stat_result:
    """Write a file so that a reader sees all of it or nothing; return its status."""
    with _replace(path) as (_, descriptor), os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(data)
        status = os.fstat(descriptor)
        if status.st_size != len(data):
            raise OSError(f"{path}: only {status.st_size} of {len(data)} bytes were written; is the disk full?")
    return status


def parse_unfinished_name(name: str) -> str | None:
    """Return the name that an unfinished file would have got; None if `name` is not an unfinished file's."""
    found = _PART.fullmatch(name)
    return found["name"] if found else None
