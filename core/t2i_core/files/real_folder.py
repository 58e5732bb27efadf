"""Folders from which files are removed without following a link.

A symbolic link inside a folder may lead anywhere, so code that removes files goes through `RealFolder`, which only
sees regular files and folders that are really there. On POSIX systems each name is resolved relative to the open
folder above it, so that this holds even if another process puts a link in a folder's place at the same moment.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_RELATIVE = {os.open, os.stat, os.unlink, os.rmdir} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""True if names can be resolved relative to an open folder (not on Windows)."""

_JUNCTION = 0xA0000003
"""`stat.IO_REPARSE_TAG_MOUNT_POINT`, which exists on Windows alone: a junction is a link to a folder."""


class RealFolder:
    """A folder whose own files can be looked at and removed; its links are not followed.

    Names are single names, or paths below the folder with `/` between them. Every method raises OSError if the
    system does not allow it.

    Args:
        path: The folder; None for a missing one, which counts as empty.
        descriptor: The open folder, where names can be resolved relative to it.
    """

    def __init__(self, path: Path | None, descriptor: int | None = None) -> None:
        self._path = path
        self._descriptor = descriptor

    def names(self) -> list[str]:
        """Return the names of everything in the folder."""
        place = self._path if self._descriptor is None else self._descriptor
        return [] if place is None else os.listdir(place)  # noqa: PTH208 - Path knows no descriptors

    def file(self, name: str) -> os.stat_result | None:
        """Return the status of a regular file; None for anything else."""
        if "/" in name:
            with self._open_parent(name) as (parent, last):
                return parent.file(last)
        found = self._lstat(name)
        return found if found is not None and stat.S_ISREG(found.st_mode) else None

    def remove(self, name: str) -> bool:
        """Remove a regular file and return True; return False, and remove nothing, for anything else."""
        with self._open_parent(name) as (parent, last):
            if parent.file(last) is None:
                return False
            os.unlink(parent._make_path(last), dir_fd=parent._descriptor)
            return True

    def remove_empty(self, name: str) -> None:
        """Remove a folder if it is empty and no link."""
        with self._open_parent(name) as (parent, last):
            if not _is_folder(parent._lstat(last)):
                return
            try:
                os.rmdir(parent._make_path(last), dir_fd=parent._descriptor)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise

    @contextmanager
    def folder(self, name: str) -> Iterator[RealFolder]:
        """Open a folder within this one. A folder that is missing, or is a link, counts as empty."""
        first, _, rest = name.partition("/")
        if self._path is None or not _is_folder(self._lstat(first)):
            yield RealFolder(None)
            return
        with _open_path(self._path / first, self._make_path(first), self._descriptor) as inner:
            if rest:
                with inner.folder(rest) as innermost:
                    yield innermost
            else:
                yield inner

    @contextmanager
    def _open_parent(self, name: str) -> Iterator[tuple[RealFolder, str]]:
        """Open the folder that a path below this one lies in; also gives the last name of the path."""
        above, _, last = name.rpartition("/")
        if not above:
            yield self, last
            return
        with self.folder(above) as folder:
            yield folder, last

    def _make_path(self, name: str) -> str:
        return name if self._path is None or self._descriptor is not None else str(self._path / name)

    def _lstat(self, name: str) -> os.stat_result | None:
        if self._path is None:
            return None
        try:
            return os.stat(self._make_path(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None


@contextmanager
def open_folder(path: Path, follow: bool = True) -> Iterator[RealFolder]:
    """Open a folder that the user has named.

    Args:
        path: The folder.
        follow: True if the folder itself may be a link.

    Raises:
        OSError: If the folder does not exist, or it is a link and `follow` is False.
    """
    with _open_path(path, str(path), None, follow) as folder:
        yield folder


def is_link(path: Path) -> bool:
    """Return whether a path is a symbolic link, or a junction of Windows, wherever it leads."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == _JUNCTION


def _is_folder(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISDIR(found.st_mode) and getattr(found, "st_reparse_tag", 0) != _JUNCTION


@contextmanager
def _open_path(path: Path, name: str, above: int | None, follow: bool = False) -> Iterator[RealFolder]:
    if not _RELATIVE:
        if is_link(path) and not follow:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        os.scandir(path).close()  # raises what opening it would
        yield RealFolder(path, None)
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(name, flags, dir_fd=above)
    try:
        yield RealFolder(path, descriptor)
    finally:
        os.close(descriptor)
