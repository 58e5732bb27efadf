"""Removal of a run: of the files that it wrote, and of no other file in its folder."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..api.errors import BadFolder
from ..files.real_folder import is_link, open_folder
from .exports import list_exports
from .manifest_file import LOCK, MANIFEST
from .run_files import IMAGES, list_lock_names, list_model_folders, list_own_files


@dataclass(frozen=True)
class DiskUse:
    """The disk space of a run's files.

    Attributes:
        bytes: Size of all files.
        alone: Size of the files that no other link shares (of the cache or another run); removal frees it.
    """

    bytes: int
    alone: int


def measure_disk_use(folder: Path) -> DiskUse:
    """Return the size of the files that a run and its sinks wrote and that can be read."""
    total = alone = 0
    with contextlib.suppress(OSError), open_folder(folder) as run:
        for file in list_own_files(run, list_exports(folder)):
            total += file.stat.st_size
            alone += file.stat.st_size if file.stat.st_nlink == 1 else 0
    return DiskUse(total, alone)


def check_removable(folder: Path) -> None:
    """Raise BadFolder unless `remove_run` may remove this folder: if it is a link, or holds no run."""
    if is_link(folder):
        raise BadFolder(
            f"{folder}: is a link to {folder.readlink()}, and links are not followed: name that folder to remove "
            "the run, or remove the link itself with the system's own command"
        )
    if not (folder / MANIFEST).exists():
        raise BadFolder(f"{folder}: holds no run ({MANIFEST} is missing)")
    if is_link(folder / MANIFEST):
        raise BadFolder(f"{folder / MANIFEST}: is a link, which no run writes; remove the folder yourself")


def remove_run(folder: Path) -> list[str]:
    """Remove the files that a run and its sinks wrote, and its folder if nothing else is in it.

    Files and folders with other names, and links, stay. No link is followed.

    Returns:
        The names of everything that is left in the folder.

    Raises:
        BadFolder: If the folder is a link, holds no run, is in use, or cannot be removed.
    """
    try:
        check_removable(folder)
        with open_folder(folder, follow=False) as run:
            with ExitStack() as stack:
                for lock in {LOCK, *list_lock_names(run)}:
                    stack.enter_context(FileLock(folder / lock, timeout=0))
                exports = list_exports(folder)
                for file in list_own_files(run, exports):
                    if file.name != MANIFEST:
                        file.folder.remove(file.name)
                parents = {str(parent) for path in exports for parent in path.parents[:-1]}
                models = (f"{IMAGES}/{model}" for model in list_model_folders(run))
                for name in (*models, IMAGES, *sorted(parents, key=len, reverse=True)):
                    run.remove_empty(name)
                run.remove(MANIFEST)  # last, so that an interrupted removal can be repeated
            for lock in list_lock_names(run):
                run.remove(lock)
            others = sorted(run.names())
        if not others:
            folder.rmdir()
    except Timeout as error:
        raise BadFolder(f"{folder}: another process works on this run; wait until it ends") from error
    except OSError as error:
        raise BadFolder(f"{folder}: cannot be removed ({error.strerror or error})") from error
    return others
