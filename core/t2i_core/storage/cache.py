"""The size of the cache, and its cleaning down to a limit, the oldest entries first.

Cleaning removes only files that the store wrote: regular files, by their exact names, in the place where the store
puts them. It follows no link inside the cache, to remove files or to count bytes. The cache folder may be a link.

The cache is never cleaned while a run uses it. Run folders keep their images, because they hold their own links.
A later run makes again what it needs and cleaning has removed.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from pydantic import ByteSize, TypeAdapter, ValidationError

from ..api.cache_folder import find_cache_folder
from ..api.environment import ENVIRONMENTS
from ..api.errors import BadFolder, BadOption
from ..files.atomic_write import parse_unfinished_name
from ..files.byte_size import format_size
from ..files.real_folder import open_folder
from .cache_lock import list_users, lock_opening, mark_in_use
from .environments import list_environments, remove_environments, remove_unfinished
from .store import DATABASE, IMAGE_FOLDER, IMAGES, Store, make_image_name, parse_image_name

LIMIT_VARIABLE = "T2I_CACHE_LIMIT"

_PROBE = re.compile(r"shared-[0-9a-f]{16}\.(probe|answer)")
"""Names of the files by which t2i-ray finds out whether a worker sees the cache."""

_ROW = 200
"""Approximate number of bytes that a row takes in addition to its long fields."""


@dataclass(frozen=True)
class CacheUse:
    """Contents of the cache.

    Attributes:
        folder: The cache folder.
        images: Number of images.
        observations: Number of observations.
        image_bytes: Size of the image files.
        other_bytes: Size of the database and of all other files.
        environments: Number of environments of components.
        environment_bytes: Size of their files, as when they were built.
        in_use: Number of runs, and of other work, that use the cache at this moment.
    """

    folder: Path
    images: int
    observations: int
    image_bytes: int
    other_bytes: int
    environments: int
    environment_bytes: int
    in_use: int

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return self.image_bytes + self.other_bytes + self.environment_bytes


@dataclass(frozen=True)
class Cleaned:
    """Amounts removed from the cache. Images that run folders link still take space on the disk.

    Attributes:
        images: Number of images.
        observations: Number of observations.
        environments: Number of environments of components.
        leftovers: Number of files that killed processes left: half-written ones, and images without a row in the
            database; and of environments that they left half built.
        bytes_before: Size of the cache before.
        bytes_after: Size of the cache afterwards.
    """

    images: int
    observations: int
    environments: int
    leftovers: int
    bytes_before: int
    bytes_after: int

    @property
    def anything(self) -> bool:
        """True if anything was removed."""
        return bool(self.images or self.observations or self.environments or self.leftovers)

    def __str__(self) -> str:
        oldest = f"{self.images} images and {self.observations} observations removed, the oldest"
        if self.environments:
            oldest += f", {self.environments} environments too"
        leftovers = f", and {self.leftovers} files that killed processes left" if self.leftovers else ""
        return f"{oldest}{leftovers}: {format_size(self.bytes_before)} became {format_size(self.bytes_after)}"


def parse_size(text: str, whose: str) -> int:
    """Parse a size in bytes: `20GB`, `500 MiB`, `0`. Raises BadOption."""
    try:
        return TypeAdapter(ByteSize).validate_python(text)
    except ValidationError as error:
        raise BadOption(f"{whose} must be a size such as 20GB or 500MB (got {text!r})") from error


def measure_folder(folder: Path) -> int:
    """Return the size in bytes of all files in a folder that can be read; links are not followed."""
    return sum(size for _, size in _files(folder, with_environments=True))


def read_cache_limit() -> int | None:
    """Return the number of bytes that T2I_CACHE_LIMIT allows; None if it is not set. Raises BadOption."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    return parse_size(text, LIMIT_VARIABLE) if text else None


@contextlib.contextmanager
def use_cache(note: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the cache for a run, from its plan to its end; then clean it down to T2I_CACHE_LIMIT, if that is set.

    If another run still uses the cache, that run cleans it when it ends.

    Args:
        note: Called with a message about what was removed.
    """
    limit = read_cache_limit()
    folder = find_cache_folder().absolute()
    Store(folder).close()  # raises the clearest error about the folder
    with mark_in_use(folder):
        yield
    if limit is not None and (cleaned := _clean(folder, limit)) and cleaned.anything:
        note(f"cache: {cleaned} ({LIMIT_VARIABLE})")


def measure_cache() -> CacheUse | None:
    """Return what the cache holds; None if there is no cache. Raises BadFolder."""
    folder = find_cache_folder().absolute()
    if not _begun(folder):
        return None
    with _database(folder, "read") as database, lock_opening(folder):
        (images,) = database.execute("select count(distinct digest) from images where path is null").fetchone()
        (observations,) = database.execute("select count(*) from observations").fetchone()
        image_bytes, other_bytes = _sizes(folder)
        sizes = [record.bytes for _, record in list_environments(folder)]
        return CacheUse(
            folder,
            images,
            observations,
            image_bytes,
            other_bytes,
            len(sizes),
            sum(sizes),
            list_users(folder),
        )


def shrink_cache(limit: int) -> Cleaned:
    """Clean the cache down to a number of bytes. Raises BadFolder if a run uses it, or it cannot be written."""
    folder = find_cache_folder().absolute()
    if not _begun(folder):
        return Cleaned(0, 0, 0, 0, 0, 0)
    cleaned = _clean(folder, limit)
    if cleaned is None:
        raise BadFolder(f"cache folder {folder}: in use by a run; wait for its end")
    return cleaned


def _clean(folder: Path, limit: int) -> Cleaned | None:
    """Clean the cache; return None if it is in use."""
    with _database(folder, "cleaned") as database, lock_opening(folder):  # nobody can begin to use it meanwhile
        if list_users(folder):
            return None
        before = _measure(folder)
        leftovers = _sweep(folder, database) + remove_unfinished(folder)
        images = observations = environments = 0
        while (excess := _measure(folder) - limit) > 0:  # what a row frees is known only afterwards
            changed, rowid, used = _cut(folder, database, excess)
            if changed == rowid == used == -1:
                break
            environments += (removed := remove_environments(folder, used))
            if used > -1 and not removed:  # one is being built
                break
            images += _remove_images(folder, database, changed)
            observations += database.execute("delete from observations where rowid <= ?", (rowid,)).rowcount
            database.execute("vacuum")
            database.execute("pragma wal_checkpoint(truncate)")
        return Cleaned(images, observations, environments, leftovers, before, _measure(folder))


def _measure(folder: Path) -> int:
    """Return the number of bytes that count for the limit."""
    return sum(_sizes(folder)) + sum(record.bytes for _, record in list_environments(folder))


def _cut(folder: Path, database: sqlite3.Connection, excess: int) -> tuple[int, int, float]:
    """Return how far images, observations and environments must go to free a number of bytes.

    They are merged in the order of their age, so that memory stays flat.

    Args:
        folder: The cache folder.
        database: The open database.
        excess: Number of bytes to free.

    Returns:
        The time of the last change of images, in nanoseconds, the rowid of observations, and the time of the last
        use of environments, in seconds; -1 for none.
    """
    last: dict[str, float] = {_IMAGE: -1, _OBSERVATION: -1, _ENVIRONMENT: -1}
    environments = (
        (record.used, record.bytes, _ENVIRONMENT, record.used) for _, record in list_environments(folder)
    )
    for _, size, kind, place in heapq.merge(_images(database), _observations(database), environments):
        if excess <= 0:
            break
        excess -= size
        last[kind] = place
    return int(last[_IMAGE]), int(last[_OBSERVATION]), last[_ENVIRONMENT]


_IMAGE, _OBSERVATION, _ENVIRONMENT = "image", "observation", "environment"

_CHANGED = "coalesce(max(cast(changed as integer)), 0)"
"""SQL for the time of an image's last change; a damaged time counts too, so that the image can be removed."""


def _images(database: sqlite3.Connection) -> Iterator[tuple[float, int, str, int]]:
    """Yield time, size and sort key of each image of the store's own, the oldest first."""
    sql = (
        f"select {_CHANGED}, max(cast(bytes as integer)), sum(length(value)) + count(*) * ?, "
        "coalesce((select length(value) from truths where key = digest), 0) "
        "from images where path is null group by digest order by 1"
    )
    for changed, size, rows, truth in database.execute(sql, (_ROW,)):
        yield changed / 1e9, size + rows + truth, _IMAGE, changed


def _observations(database: sqlite3.Connection) -> Iterator[tuple[float, int, str, int]]:
    """Yield time, size and rowid of each observation, the oldest first."""
    (page,) = database.execute("pragma page_size").fetchone()
    sql = "select coalesce(cast(at as integer), 0), length(value), rowid from observations order by rowid"
    latest = 0
    for at, size, rowid in database.execute(sql):
        latest = max(latest, at)  # rowids are in the order of keeping, but a clock may have been set back
        # a value longer than a page takes whole pages
        yield latest / 1e9, size + _ROW if size < page else -(-size // page) * page, _OBSERVATION, rowid


def _remove_images(folder: Path, database: sqlite3.Connection, changed: int) -> int:
    """Remove images last changed up to this time, files first, because a row without its file counts as missing.

    Returns:
        The number of files that were removed.
    """
    database.execute("create temp table if not exists going (digest blob primary key)")
    database.execute("delete from going")
    database.execute(
        f"insert into going select digest from images where path is null group by digest having {_CHANGED} <= ?",
        (changed,),
    )
    count = 0
    going = database.execute("select lower(hex(digest)) from going order by 1")
    names = (make_image_name(digest) for (digest,) in going)
    # a damaged row may hold any name; only names of the store's own form are used
    places = (name.split("/") for name in names if parse_image_name(name))
    with open_folder(folder) as cache:
        for start, together in groupby(places, key=itemgetter(0)):
            with cache.folder(f"{IMAGES}/{start}") as images:
                count += sum(images.remove(name) for _, name in together)
    database.execute("delete from images where path is null and digest in (select digest from going)")
    database.execute("delete from truths where key not in (select digest from images)")
    return count


def _sweep(folder: Path, database: sqlite3.Connection) -> int:
    """Remove files that killed processes left: half-written ones, images without a row, and t2i-ray's probes.

    Files with other names belong to the user, even in the folder of images.

    Returns:
        The number of files that were removed.
    """
    count = 0
    with open_folder(folder) as cache, cache.folder(IMAGES) as images:
        count += sum(cache.remove(name) for name in filter(_PROBE.fullmatch, cache.names()))
        for start in filter(IMAGE_FOLDER.fullmatch, images.names()):
            with images.folder(start) as inner:
                for name in inner.names():
                    if _is_leftover(database, start, name):
                        count += inner.remove(name)
    return count


def _is_leftover(database: sqlite3.Connection, start: str, name: str) -> bool:
    """Return whether the store gave a file this name, and no row has it."""
    finished_name = parse_unfinished_name(name)
    digest = parse_image_name(f"{start}/{finished_name or name}")
    if digest is None:
        return False
    own = "select 1 from images where digest = ? and path is null"
    return finished_name is not None or database.execute(own, (bytes.fromhex(digest),)).fetchone() is None


def _sizes(folder: Path) -> tuple[int, int]:
    """Return the size of image files, and of all other files except SQLite's shared memory (`-shm`).

    Other files in the folder of images do not count: cleaning cannot remove them, so it would remove all the rest.
    Environments have records of their sizes.
    """
    images = other = 0
    for name, size in _files(folder):
        place, _, last = name.rpartition("/")
        if name.startswith(f"{IMAGES}/"):
            whole = f"{place}/{parse_unfinished_name(last) or last}".removeprefix(f"{IMAGES}/")
            images += size if parse_image_name(whole) else 0
        elif name.endswith(".png"):
            images += size
        elif not name.endswith("-shm"):
            other += size
    return images, other


def _files(folder: Path, with_environments: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the path within the folder, with `/`, and the size of each regular file that can be read."""
    for place, folders, names in os.walk(folder):
        if Path(place) == folder and not with_environments and ENVIRONMENTS in folders:
            folders.remove(ENVIRONMENTS)
        inside = Path(place).relative_to(folder).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        for name in names:
            with contextlib.suppress(OSError):  # another process may remove its own
                found = Path(place, name).lstat()
                if stat.S_ISREG(found.st_mode):
                    yield f"{prefix}{name}", found.st_size


def _begun(folder: Path) -> bool:
    """Return whether the folder has a database. Raises BadFolder."""
    try:
        return (folder / DATABASE).exists()
    except OSError as error:
        raise BadFolder(f"cache folder {folder}: cannot be read ({error.strerror})") from error


@contextlib.contextmanager
def _database(folder: Path, wanted: str) -> Iterator[sqlite3.Connection]:
    """Open the database. Raises BadFolder with the verb `wanted` (`read`, `cleaned`) if that is not possible."""
    Store(folder).close()  # creates missing tables, and raises the clearest error about a damaged one
    database = sqlite3.connect(folder / DATABASE, timeout=120, isolation_level=None)
    try:
        yield database
    except (OSError, sqlite3.Error) as error:
        raise BadFolder(f"cache folder {folder}: cannot be {wanted} ({error})") from error
    finally:
        database.close()
