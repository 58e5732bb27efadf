"""Taking a run's folder away: what the run wrote, and nothing else that lies there."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import BadFolder
from .runs import LOCK, MANIFEST

TABLES = ("samples.csv", "measurements.csv", "failures.csv")
FOLDERS = ("images", "annotations")


@dataclass(frozen=True)
class DiskUse:
    """What a run's files take.

    bytes:  all of them together
    alone:  those that no link elsewhere shares (the cache's, another run's): what removal sets free
    """

    bytes: int
    alone: int


def disk_use(folder: Path) -> DiskUse:
    """Return what the files take that a run wrote, as far as they are there and can be seen."""
    total = alone = 0
    with contextlib.suppress(OSError):
        for path in _files(folder):
            with contextlib.suppress(OSError):
                stat = path.stat()
                total += stat.st_size
                alone += stat.st_size if stat.st_nlink == 1 else 0
    return DiskUse(total, alone)


def remove_run(folder: Path) -> list[str]:
    """Remove what a run wrote, and its folder where nothing else is in it. Returns the names of what else is.

    Raises BadFolder where the folder holds no run, a process works on it, or it cannot be removed.
    """
    try:
        if not (folder / MANIFEST).exists():
            raise BadFolder(f"{folder}: holds no run ({MANIFEST} is missing)")
        with ExitStack() as stack:
            for lock in {folder / LOCK, *folder.glob(f"{LOCK}*")}:  # one more for each shard
                stack.enter_context(FileLock(lock, timeout=0))
            for name in FOLDERS:
                if (folder / name).is_dir():
                    shutil.rmtree(folder / name)
            for path in _loose(folder):
                path.unlink(missing_ok=True)
            (folder / MANIFEST).unlink()  # last: until then it can be seen, and removed, again
        for lock in folder.glob(f"{LOCK}*"):
            lock.unlink(missing_ok=True)
        others = sorted(path.name for path in folder.iterdir())
        if not others:
            folder.rmdir()
    except Timeout as error:
        raise BadFolder(f"{folder}: a process works on this run; wait for its end") from error
    except OSError as error:
        raise BadFolder(f"{folder}: cannot be removed ({error.strerror or error})") from error
    return others


def _loose(folder: Path) -> Iterator[Path]:
    """What a run writes beside its folders, run.json and locks."""
    yield from (folder / name for name in TABLES)
    yield from folder.glob(".*.part")
    yield folder / ".plan"


def _files(folder: Path) -> Iterator[Path]:
    """What a run writes, be it there or not."""
    yield from (folder / MANIFEST, *_loose(folder), *folder.glob(f"{LOCK}*"))
    for name in FOLDERS:
        for place, _, names in os.walk(folder / name):
            yield from (Path(place, each) for each in names)
