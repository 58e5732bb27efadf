"""What is kept across runs: images by content, observations by what made them.

Image files stand under the SHA-256 of their bytes; everything else is in one SQLite database in WAL mode, which
several processes may read and write at once and which a kill leaves whole: each entry is its own transaction.
Each row carries a checksum of itself, its key and its table, so that whatever becomes of the file, what is found
is what was put, and what is not found is made again. An image's digest is checked whenever it is opened, and
whenever its file has another size or time than it had.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from PIL import Image as PILImage

from .errors import BadFolder
from .images import DamagedImage, Image, Truth, image_file
from .sharing import in_use, opening
from .sources import file_digest

FORMAT = 3
"""Version of the stored forms; it is part of every key, so that another version's are never misread."""

DATABASE = f"store-{FORMAT}.sqlite"
"""The database's file: another version of t2i keeps its own beside it."""

# Observations are kilobytes each: a table without rowid would hold few to a page, and take three times as long to
# read.
_SCHEMA = """
create table if not exists images (
    key blob primary key, digest text not null, bytes integer not null, changed integer not null, path text,
    width integer not null, height integer not null, truth integer not null, record text not null,
    crc integer not null
) without rowid;
create table if not exists failures (
    key blob primary key, reason text not null, crc integer not null
) without rowid;
create index if not exists images_by_digest on images (digest);
create table if not exists truths (key text primary key, value blob not null, crc integer not null) without rowid;
create table if not exists observations (
    key blob primary key, value blob not null, crc integer not null
);
create table if not exists settings (
    key text primary key, value text not null, crc integer not null
) without rowid;
create table if not exists rates (
    key text primary key, seconds real not null, crc integer not null
) without rowid;
create table if not exists openings (key integer primary key, at real not null);
"""
# `openings`: all observations up to this rowid were there at this time. It tells cleaning how old they are, and
# costs nothing when one is kept.

_TOGETHER = 64
"""So many rows are read by one query, where many are asked for."""

_HINDERED = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
}
"""What keeps SQLite from its work though the database is sound; all else that it says is said of a damaged one."""

_SAID = (sqlite3.Error, UnicodeDecodeError)
"""How SQLite says so: it cannot when its message quotes from the database what is no text any more."""


def cache_folder() -> Path:
    """Return where things are kept: `T2I_CACHE_DIR`, or t2i's folder in the user's cache."""
    return Path(os.environ.get("T2I_CACHE_DIR") or platformdirs.user_cache_dir("t2i"))


class Store:
    """Images and observations, each under the hash (hex) of all that made it.

    fresh: take nothing that was there before; what is put replaces it
    """

    def __init__(self, folder: Path | None = None, fresh: bool = False) -> None:
        self.folder = (folder or cache_folder()).absolute()
        self._images = str(self.folder / "images")
        self._made: set[str] | None = set() if fresh else None
        self._closing = contextlib.ExitStack()
        try:
            (self.folder / "images").mkdir(parents=True, exist_ok=True)
            self._closing.enter_context(in_use(self.folder))
            self._db = sqlite3.connect(self.folder / DATABASE, timeout=120, isolation_level=None)
            # a text that was altered into no text at all is an altered row like any other
            self._db.text_factory = lambda text: text.decode("utf-8", "replace")
            # SQLite does not wait for another process that turns a new database to WAL at the same moment
            with opening(self.folder):
                # a classifier's answer, 4 kB, does not fit on a page of the usual size; of a new database only
                self._db.execute("pragma page_size=8192")
                self._db.execute("pragma cache_size=-32768")  # 32 MB: keys come in no order
                self._db.execute("pragma journal_mode=wal")
                self._db.execute("pragma synchronous=normal")
                self._db.executescript(_SCHEMA)
                with contextlib.suppress(sqlite3.Error):  # what is wrong is said where something is kept
                    self._db.execute(
                        "insert or ignore into openings select coalesce(max(rowid), 0), ? from observations",
                        (time.time(),),
                    )
        except (OSError, *_SAID) as error:
            self._closing.close()
            raise self._unusable(error) from error

    def close(self) -> None:
        """Close the database."""
        self._db.close()
        self._closing.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def image(self, key: str) -> Image | None:
        """Return the image kept under a key, if its file is there in its full size, and unaltered as far as can be
        told without opening it: one that was written since is read and compared.
        """
        row = self._get("images", bytes.fromhex(key)) if self._usable(key) else None
        if row is None or not self._stands(key, row):
            return None
        return Image(row[0], Path(row[3] or self._name(row[0])))

    def digests(self, keys: Sequence[str]) -> list[str | None]:
        """Return the digest of the image kept under each of many keys, in a quarter of `image`'s time.

        Its file is not looked at: what was said of an image is found by the digest alone.
        """
        return [None if row is None else row[1] for row in self._many("images", keys)]

    def _stands(self, key: str, row: tuple[Any, ...]) -> bool:
        """Whether what a row of `images` says is there, unaltered."""
        digest, size, changed, outside, _, _, truth, _ = row
        name = outside or self._name(digest)
        try:
            stat = os.stat(name)  # noqa: PTH116 - a Path costs as much again, and every sample is looked up often
            whole = stat.st_size == size and (stat.st_mtime_ns == changed or file_digest(Path(name)) == digest)
        except OSError:
            return False
        if whole and stat.st_mtime_ns != changed:  # a copy, say: it need not be read again the next time
            self._put("images", bytes.fromhex(key), digest, size, stat.st_mtime_ns, *row[3:])
        return whole and not (truth and self._one("select 1 from truths where key = ?", digest) is None)

    def details(self, key: str) -> tuple[tuple[int, int], dict[str, Any]]:
        """Return an image's width and height in pixels, and what was recorded of its making.

        (0, 0) and nothing where there is no such image.
        """
        row = self._get("images", bytes.fromhex(key))
        return ((row[4], row[5]), dict(json.loads(row[-1]))) if row else ((0, 0), {})

    def failure(self, key: str) -> str | None:
        """Return why an image can never be made, where that is known."""
        row = self._get("failures", bytes.fromhex(key)) if self._usable(key) else None
        return row[0] if row else None

    def put_failure(self, key: str, reason: str) -> None:
        """Keep why an image can never be made, unless another process has made it meanwhile."""
        said = reason.encode("utf-8", "backslashreplace").decode()
        with self._together():
            if self.image(key) is not None:
                return
            self._put("failures", bytes.fromhex(key), said)
        self._note(key)

    def put_image(
        self, key: str, image: Any, record: Mapping[str, Any] | None = None, truth: Truth | None = None
    ) -> Image:
        """Keep an image: uint8 (height, width, 3), a PIL image, or the path of a file that stays where it is.

        Where another process has kept one under this key meanwhile, that one stays: what was read stays true.
        Raises TypeError or ValueError for a record that is no plain data.
        """
        said = json.dumps(dict(record or {}), allow_nan=False)
        if not isinstance(image, Path) and (before := self.image(key)) is not None:
            return before
        outside: str | None = None
        if isinstance(image, Path):
            found = image_file(image.absolute())
            digest, path, outside = found.digest, found.path, str(found.path)
            width, height = picture_size(path)
        else:
            data, (width, height) = png(image), _size(image)
            digest = hashlib.sha256(data).hexdigest()
            path = self._file(digest)
            self._write(path, data, digest)
        value = None if truth is None else truth.to_bytes()
        with self._together():
            if outside is None and (before := self.image(key)) is not None:
                return before
            try:
                stat = path.stat()
            except OSError as error:
                raise self._unusable(error) from error
            if value is not None:
                self._put("truths", digest, value)
            row = (digest, stat.st_size, stat.st_mtime_ns, outside, width, height, int(value is not None), said)
            self._put("images", bytes.fromhex(key), *row)
            self._execute("delete from failures where key = ?", bytes.fromhex(key))
        self._note(key)
        return Image(digest, path)

    def truth(self, digest: str) -> Truth | None:
        """Return what is really drawn in an image, where that was kept. Raises DamagedImage if it was altered."""
        if self._one("select 1 from truths where key = ?", digest) is None:
            return None
        row = self._get("truths", digest)
        if row is None:
            raise DamagedImage(f"the kept truth of image {digest[:12]} was altered")
        return Truth.from_bytes(row[0])

    def holds(self, image: Image) -> bool:
        """Whether the image's file is the store's own."""
        return image.path == self._file(image.digest)

    def forget_image(self, digest: str) -> None:
        """Drop a damaged image of the store's own, so that it is made again."""
        self._file(digest).unlink(missing_ok=True)
        self._execute("delete from images where digest = ? and path is null", digest)

    def has(self, key: str) -> bool:
        """Whether an observation is kept, unaltered, under a key."""
        return self.get(key) is not None

    def get(self, key: str) -> bytes | None:
        """Return what is kept under a key; None where there is nothing, or where it was altered."""
        row = self._get("observations", bytes.fromhex(key)) if self._usable(key) else None
        if row is None:
            return None
        value: bytes = row[0]
        return value

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return what `get` would for each of many keys, in half its time."""
        return [None if row is None else row[1] for row in self._many("observations", keys)]

    def put(self, key: str, value: bytes) -> bytes:
        """Keep an observation's stored form, and return what is kept.

        Where another process has kept one under this key meanwhile, that one stays: what was read stays true.
        """
        with self._together():
            if (before := self.get(key)) is not None:
                return before
            self._put("observations", bytes.fromhex(key), value)
        self._note(key)
        return value

    def settings(self, fingerprint: str) -> dict[str, Any] | None:
        """Return what a model or judge said of its settings when it last worked; None where that is not known."""
        row = self._get("settings", fingerprint)
        return dict(json.loads(row[0])) if row else None

    def put_settings(self, fingerprint: str, settings: Mapping[str, Any]) -> None:
        """Keep what a model or judge says of its settings, for runs that take its work from here.

        Raises TypeError or ValueError where they are no plain data.
        """
        self._put("settings", fingerprint, json.dumps(dict(settings), allow_nan=False))

    def rate(self, name: str) -> float | None:
        """Return the seconds that one item of this work took when it was last done."""
        row = self._get("rates", name)
        return None if row is None else float(row[0])

    def put_rate(self, name: str, seconds: float) -> None:
        """Remember how long one item of this work takes."""
        self._put("rates", name, float(seconds))

    def gone(self, what: str) -> BadFolder:
        """Return what to say where something that was kept, or found, in this run cannot be found any more."""
        try:
            whole = self._db.execute("pragma integrity_check(1)").fetchone()
        except _SAID as error:
            return self._unusable(error)
        if whole != ("ok",):
            return self._damaged(whole[0])
        return self._taken(what)

    def _name(self, digest: str) -> str:
        return f"{self._images}/{digest[:2]}/{digest}.png"

    def _file(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _write(self, path: Path, data: bytes, digest: str) -> None:
        """Write a file, unless it is there already, so that it is there whole or not at all."""
        try:
            if path.exists() and file_digest(path) == digest:
                return
            path.parent.mkdir(exist_ok=True)
            write_whole(path, data)
        except OSError as error:
            raise self._unusable(error) from error

    def _usable(self, key: str) -> bool:
        return self._made is None or key in self._made

    def _note(self, key: str) -> None:
        if self._made is not None:
            self._made.add(key)

    def _get(self, table: str, key: bytes | str) -> tuple[Any, ...] | None:
        """Return a row without key and checksum; None where there is none, or where it is not what was put."""
        row = self._one(f"select * from {table} where key = ?", key)
        # an altered index leads to another row, which is sound in itself
        return row[1:-1] if row is not None and row[0] == key and row[-1] == _seal(table, row[:-1]) else None

    def _many(self, table: str, keys: Sequence[str]) -> list[tuple[Any, ...] | None]:
        """Return, for each of many keys, the row that `_get` would find, with key and checksum."""
        found: dict[bytes, tuple[Any, ...]] = {}
        wanted = [bytes.fromhex(key) if self._usable(key) else b"" for key in keys]
        for start in range(0, len(wanted), _TOGETHER):
            part = wanted[start : start + _TOGETHER]
            with self._explained():
                sql = f"select * from {table} where key in ({', '.join('?' * len(part))})"
                rows = self._db.execute(sql, part).fetchall()
            for row in rows:
                if row[-1] == _seal(table, row[:-1]):
                    found[row[0]] = row
        return [found.get(key) for key in wanted]

    def _put(self, table: str, *row: Any) -> None:
        places = ", ".join("?" * (len(row) + 1))
        self._execute(f"insert or replace into {table} values ({places})", *row, _seal(table, row))

    def _one(self, sql: str, *values: Any) -> Any:
        # not by `_explained`, which takes as long as the query: this is asked several times for every sample
        try:
            return self._db.execute(sql, values).fetchone()
        except sqlite3.ProgrammingError:
            raise
        except _SAID as error:
            raise self._unusable(error) from error

    def _execute(self, sql: str, *values: Any) -> None:
        with self._explained():
            self._db.execute(sql, values)

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """Do what is done inside wholly or not at all, and let no other process come between."""
        self._execute("begin immediate")
        try:
            yield
            self._execute("commit")
        finally:
            if self._db.in_transaction:  # an error; SQLite has ended some transactions by itself by now
                self._execute("rollback")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except _SAID as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> BadFolder:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        # a database may also say of itself that nobody can write it
        sound = self._read_only() if code == sqlite3.SQLITE_READONLY else code in _HINDERED
        if isinstance(error, _SAID) and not sound:
            return self._damaged(str(error))
        if isinstance(error, FileNotFoundError):
            return self._taken("it")
        why = error.strerror or error if isinstance(error, OSError) else error
        return BadFolder(
            f"cache folder {self.folder}: {why}; mend that or name another one in T2I_CACHE_DIR. "
            "What was kept before is safe."
        )

    def _read_only(self) -> bool:
        """Whether folder or database may not be written, or are not there."""
        files = (self.folder, self.folder / DATABASE, *self.folder.glob(f"{DATABASE}-*"))
        return not all(os.access(file, os.W_OK) for file in files)

    def _taken(self, what: str) -> BadFolder:
        return BadFolder(
            f"cache folder {self.folder}: {what} was taken away or altered while the run went on; the same "
            "command, given again, makes up for it"
        )

    def _damaged(self, why: str) -> BadFolder:
        return BadFolder(
            f"{self.folder / DATABASE} is damaged ({' '.join(why.split())}): remove it and all whose names begin "
            "like it, and give the command again; what it held is made again, and the folders of runs stay"
        )


def _seal(table: str, row: Sequence[Any]) -> int:
    """A checksum of a row's fields and of its table: tables share keys, and pages may change places."""
    return zlib.crc32(repr([zlib.crc32(f) if type(f) is bytes else f for f in (table, *row)]).encode())


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of an image file, from its head; (0, 0) where it is no image, which opening it will say."""
    try:
        with PILImage.open(path) as picture:
            return picture.size
    except (OSError, ValueError, SyntaxError):
        return 0, 0


def _size(image: Any) -> tuple[int, int]:
    return (image.shape[1], image.shape[0]) if isinstance(image, np.ndarray) else image.size


def png(image: Any) -> bytes:
    """Encode uint8 (height, width, 3) or a PIL image as PNG, the same bytes for the same pixels.

    Raises ValueError for anything else.
    """
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise ValueError(f"want uint8 pixels of shape (height, width, 3), not {image.dtype} {image.shape}")
        image = PILImage.fromarray(image)
    elif not isinstance(image, PILImage.Image):
        raise ValueError(f"want an array or a PIL image, not {type(image).__name__}")
    file = io.BytesIO()
    image.convert("RGB").save(file, "PNG", compress_level=1)
    return file.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a name of this process first, so that a reader sees all of it or nothing."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
        if part.stat().st_size != len(data):
            raise OSError(f"{path}: only a part was written")
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):  # its folder may be gone, or no folder any more
            part.unlink(missing_ok=True)
