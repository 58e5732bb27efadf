"""The cache's size, and its cleaning: down to a limit, what was made first goes first.

Nothing is cleaned while anybody uses the cache, and what a run folder shows outlives it: its images are links of
its own. What is gone is made again where a later run wants it.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ByteSize, TypeAdapter, ValidationError

from .errors import BadFolder, BadOption
from .sharing import in_use, opening, users
from .store import DATABASE, Store, cache_folder

LIMIT_VARIABLE = "T2I_CACHE_LIMIT"

_ROW = 200
"""Bytes that a row takes beside its long fields, about."""


@dataclass(frozen=True)
class CacheUse:
    """What the cache holds.

    images, observations:      how many
    image_bytes, other_bytes:  of image files; of the database and all else
    in_use:                    by how many runs, and other work, just now
    """

    folder: Path
    images: int
    observations: int
    image_bytes: int
    other_bytes: int
    in_use: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.image_bytes + self.other_bytes


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and how many bytes the cache has left.

    Where run folders link the images, these still take their place on the disk.
    """

    images: int
    observations: int
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        gone = f"{self.images} images and {self.observations} observations"
        return f"{gone} removed, the oldest: {size_text(self.bytes_before)} became {size_text(self.bytes_after)}"


def read_size(text: str, whose: str) -> int:
    """Read a size in bytes: `20GB`, `500 MiB`, `0`. Raises BadOption."""
    try:
        return TypeAdapter(ByteSize).validate_python(text)
    except ValidationError as error:
        raise BadOption(f"{whose} {text!r}: want a size such as 20GB or 500MB") from error


def size_text(size: int) -> str:
    """Write a number of bytes for a reader: `1.2GB`."""
    return ByteSize(size).human_readable(decimal=True)


def folder_bytes(folder: Path) -> int:
    """The bytes of all files in a folder, as far as they can be seen."""
    return sum(_sizes(folder))


def cache_limit() -> int | None:
    """The bytes that T2I_CACHE_LIMIT allows; None without it. Raises BadOption."""
    text = os.environ.get(LIMIT_VARIABLE, "").strip()
    return read_size(text, LIMIT_VARIABLE) if text else None


@contextlib.contextmanager
def using_cache(note: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the cache for a run, from its plan to its end; then cut it down to T2I_CACHE_LIMIT, if there is one.

    Another run that goes on prevents that, and does it at its own end.

    note: is told what was removed
    """
    limit = cache_limit()
    folder = cache_folder().absolute()
    Store(folder).close()  # it says best what is wrong with the folder
    with in_use(folder):
        yield
    if limit is not None and (cleaned := _clean(folder, limit)) and (cleaned.images or cleaned.observations):
        note(f"cache: {cleaned} ({LIMIT_VARIABLE})")


def cache_use() -> CacheUse | None:
    """What the cache holds; None where there is none. Raises BadFolder."""
    folder = cache_folder().absolute()
    if not _begun(folder):
        return None
    with _database(folder, "read") as database, opening(folder):
        (images,) = database.execute("select count(distinct digest) from images where path is null").fetchone()
        (observations,) = database.execute("select count(*) from observations").fetchone()
        image_bytes, other_bytes = _sizes(folder)
        return CacheUse(folder, images, observations, image_bytes, other_bytes, users(folder))


def clean(limit: int) -> Cleaned:
    """Cut the cache down to so many bytes. Raises BadFolder where a run uses it, or it cannot be written."""
    folder = cache_folder().absolute()
    if not _begun(folder):
        return Cleaned(0, 0, 0, 0)
    cleaned = _clean(folder, limit)
    if cleaned is None:
        raise BadFolder(f"cache folder {folder}: in use by a run; wait for its end")
    return cleaned


def _clean(folder: Path, limit: int) -> Cleaned | None:
    """Cut the cache down; None where it is in use."""
    with _database(folder, "cleaned") as database, opening(folder):  # nobody can begin to use it meanwhile
        if users(folder):
            return None
        before = folder_bytes(folder)
        _sweep(folder, database)
        images = observations = 0
        while (excess := folder_bytes(folder) - limit) > 0:  # what a row frees is known only afterwards
            changed, rowid = _cut(database, excess)
            if changed == rowid == -1:
                break
            images += _remove_images(folder, database, changed)
            observations += database.execute("delete from observations where rowid <= ?", (rowid,)).rowcount
            database.execute("vacuum")
            database.execute("pragma wal_checkpoint(truncate)")
        return Cleaned(images, observations, before, folder_bytes(folder))


def _cut(database: sqlite3.Connection, excess: int) -> tuple[int, int]:
    """Up to which time of change images, and up to which rowid observations must go to free so many bytes.

    Both kinds are read side by side in the order of their age, so that memory stays flat.
    """
    changed = rowid = -1
    for _, size, is_image, place in heapq.merge(_images(database), _observations(database)):
        if excess <= 0:
            break
        excess -= size
        if is_image:
            changed = place
        else:
            rowid = place
    return changed, rowid


_CHANGED = "max(cast(changed as integer))"
"""When an image's file was last changed; what damage has left there counts as some time too, so that it goes."""


def _images(database: sqlite3.Connection) -> Iterator[tuple[float, int, bool, int]]:
    """Yield time, bytes and place of each image of the store's own, the oldest first."""
    sql = (
        f"select {_CHANGED}, max(cast(bytes as integer)), sum(length(record)) + count(*) * ?, "
        "coalesce((select length(value) from truths where key = digest), 0) "
        "from images where path is null group by digest order by 1"
    )
    for changed, size, rows, truth in database.execute(sql, (_ROW,)):
        yield changed / 1e9, size + rows + truth, True, changed


def _observations(database: sqlite3.Connection) -> Iterator[tuple[float, int, bool, int]]:
    """The same of observations, which have been there since before the next opening of the store at the latest."""
    marks = database.execute("select key, at from openings where typeof(at) = 'real' order by key").fetchall()
    (page,) = database.execute("pragma page_size").fetchone()
    lasts, oldest = [last for last, _ in marks], 0.0
    for rowid, size in database.execute("select rowid, length(value) from observations order by rowid"):
        mark = bisect_left(lasts, rowid)
        oldest = max(
            oldest, marks[mark][1] if mark < len(marks) else time.time()
        )  # a clock may have been set back
        # what is longer than a page takes whole ones
        yield oldest, size + _ROW if size < page else -(-size // page) * page, False, rowid


def _remove_images(folder: Path, database: sqlite3.Connection, changed: int) -> int:
    """Remove images that were last changed up to this time, files first: a row without its file counts as none."""
    database.execute("create temp table if not exists going (digest blob primary key)")
    database.execute("delete from going")
    database.execute(
        f"insert into going select digest from images where path is null group by digest having {_CHANGED} <= ?",
        (changed,),
    )
    count = 0
    for (digest,) in database.execute("select lower(hex(digest)) from going"):
        (folder / "images" / digest[:2] / f"{digest}.png").unlink(missing_ok=True)
        count += 1
    database.execute("delete from images where path is null and digest in (select digest from going)")
    database.execute("delete from truths where key not in (select digest from images)")
    return count


def _sweep(folder: Path, database: sqlite3.Connection) -> None:
    """Remove files that killed processes left: half written ones, and images that no row speaks of."""
    for file in (folder / "images").glob("*/*"):
        if file.suffix != ".png" or not _known(database, file.stem):
            file.unlink(missing_ok=True)


def _known(database: sqlite3.Connection, name: str) -> bool:
    """Whether some row speaks of the store's own image of this name."""
    try:
        digest = bytes.fromhex(name)
    except ValueError:  # no image of the store's is called so
        return False
    found = database.execute("select 1 from images where digest = ? and path is null", (digest,))
    return digest.hex() == name and found.fetchone() is not None


def _sizes(folder: Path) -> tuple[int, int]:
    """Bytes of image files, and of all else but the memory that SQLite shares while a database is open."""
    images = other = 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):  # another process may remove its own
                if path.suffix == ".png":
                    images += path.stat().st_size
                elif not name.endswith("-shm"):
                    other += path.stat().st_size
    return images, other


def _begun(folder: Path) -> bool:
    """Whether anything was ever kept there. Raises BadFolder."""
    try:
        return (folder / DATABASE).exists()
    except OSError as error:
        raise BadFolder(f"cache folder {folder}: cannot be read ({error.strerror})") from error


@contextlib.contextmanager
def _database(folder: Path, wanted: str) -> Iterator[sqlite3.Connection]:
    """Open the database. wanted: what the folder is to be, said where it cannot be (BadFolder)"""
    Store(folder).close()  # makes what an older version has not, and says what is wrong with a damaged one
    database = sqlite3.connect(folder / DATABASE, timeout=120, isolation_level=None)
    try:
        yield database
    except (OSError, sqlite3.Error) as error:
        raise BadFolder(f"cache folder {folder}: cannot be {wanted} ({error})") from error
    finally:
        database.close()
