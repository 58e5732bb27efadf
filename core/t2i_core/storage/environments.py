"""The environments of components in the cache: listed, and removed if nothing uses them."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import Timeout

from ..api.environment import ENVIRONMENTS, EnvironmentRecord, lock_environments, read_environment
from ..files.real_folder import is_link

_NAME = re.compile(r"[0-9a-f]{32}")
_UNFINISHED = re.compile(r"\.(building|removing)-[0-9a-f]{32}")


def list_environments(cache: Path) -> list[tuple[Path, EnvironmentRecord]]:
    """Return the folder and the record of each environment in a cache, the one that was used last at the end."""
    found = [(folder, record) for folder in _folders(cache, _NAME) if (record := read_environment(folder))]
    return sorted(found, key=lambda each: (each[1].used, each[0]))


def remove_environments(cache: Path, used: float) -> int:
    """Remove the environments last used up to a time; return their number. All stay while one is built.

    The caller makes sure that no run uses the cache.
    """
    return sum(_remove(folder, folder.name) for folder, record in list_environments(cache) if record.used <= used)


def remove_unfinished(cache: Path) -> int:
    """Remove environments that killed processes left half built or half removed; return their number."""
    count = 0
    for folder in _folders(cache, _UNFINISHED):
        count += _remove(folder, folder.name.rpartition("-")[2])
    return count


def _remove(folder: Path, key: str) -> bool:
    """Remove the files of an environment, unless one is being built."""
    with contextlib.suppress(Timeout), lock_environments(folder.parent, timeout=0):
        away = folder.parent / f".removing-{key}"
        if folder != away:
            shutil.rmtree(away, ignore_errors=True)
            folder.rename(away)  # so that half of it never counts as an environment
        shutil.rmtree(away)
        return True
    return False


def _folders(cache: Path, name: re.Pattern[str]) -> Iterator[Path]:
    """Yield the folders of environments whose name has a form. Links are not followed."""
    place = cache / ENVIRONMENTS
    try:
        found = [] if is_link(place) or not place.is_dir() else sorted(place.iterdir())
    except OSError:  # a cache that nobody can read has none that anybody uses; the cache's own lines tell of it
        return
    for each in found:
        if name.fullmatch(each.name) and not is_link(each) and each.is_dir():
            yield each
