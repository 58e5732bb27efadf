"""Rows that are found as they were put, or not at all: tables of SQLite in WAL mode, which several processes may
read and write at once and which a kill leaves whole.

Each row's first field is its key, its last a checksum of the others and of its table: what was altered is not
found, whatever becomes of the file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from ..api.errors import BadFolder

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


class Database:
    """Tables in a file. Whatever goes wrong with it is a BadFolder that says what to do.

    schema: SQL that makes the tables where they are not there yet
    """

    def __init__(self, file: Path, schema: str) -> None:
        self.file = file
        with self._explained():
            self._connection = sqlite3.connect(file, timeout=120, isolation_level=None)
        try:
            with self._explained():
                # a text that was altered into no text at all is an altered row like any other
                self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
                # a classifier's answer, 4 kB, does not fit on a page of the usual size; of a new database only
                self._connection.execute("pragma page_size=8192")
                self._connection.execute("pragma cache_size=-16000")  # 16 MB: keys come in no order
                self._connection.execute("pragma journal_mode=wal")
                self._connection.execute("pragma synchronous=normal")
                self._connection.executescript(schema)
        except BadFolder:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def get(self, table: str, key: bytes | str) -> tuple[Any, ...] | None:
        """Return a row without key and checksum; None where there is none, or where it is not what was put."""
        row = self.one(f"select * from {table} where key = ?", key)
        # an altered index leads to another row, which is sound in itself
        return row[1:-1] if row is not None and row[0] == key and row[-1] == seal(table, row[:-1]) else None

    def get_many(self, table: str, keys: Sequence[bytes], field: str, checksum: str = "crc") -> list[bytes | None]:
        """Return for each of many keys one field of its row, some bytes, in less time than `get`; None where there
        is no such row, or where it is not what was put.

        checksum: the field that holds the `seal` of key and field alone
        """
        of_table = _of_name(table)
        found: list[bytes | None] = []
        for start in range(0, len(keys), _TOGETHER):
            part = keys[start : start + _TOGETHER]
            # a left join keeps the keys' order; `in` would sort them first, which takes a fifth longer
            places = ", ".join(["(?)"] * len(part))
            sql = f"select {field}, {checksum} from (values {places}) left join {table} on key = column1"
            with self._explained():
                rows = self._connection.execute(sql, part).fetchall()
            # the key that was asked for is in the checksum, so an altered index leads to no other row
            found += [
                value if type(value) is bytes and crc == crc32(value, crc32(key, of_table)) else None
                for key, (value, crc) in zip(part, rows, strict=True)
            ]
        return found

    def get_rows(self, table: str, keys: Sequence[bytes]) -> list[tuple[Any, ...] | None]:
        """Return for each of many keys what `get` would, in fewer queries."""
        found: list[tuple[Any, ...] | None] = []
        for start in range(0, len(keys), _TOGETHER):
            part = keys[start : start + _TOGETHER]
            places = ", ".join(["(?)"] * len(part))
            sql = f"select {table}.* from (values {places}) left join {table} on key = column1"
            with self._explained():
                rows = self._connection.execute(sql, part).fetchall()
            found += [
                row[1:-1] if row[0] == key and row[-1] == seal(table, row[:-1]) else None
                for key, row in zip(part, rows, strict=True)
            ]
        return found

    def put(self, table: str, *row: Any) -> None:
        """Put a row, its key first; it replaces another one under this key."""
        places = ", ".join("?" * (len(row) + 1))
        self.execute(f"insert or replace into {table} values ({places})", *row, seal(table, row))

    def one(self, sql: str, *values: Any) -> Any:
        """Return a query's first row, unchecked; None where there is none."""
        # not by `_explained`, which takes as long as the query: this is asked several times for every sample
        try:
            return self._connection.execute(sql, values).fetchone()
        except sqlite3.ProgrammingError:
            raise
        except _SAID as error:
            raise self._unusable(error) from error

    def execute(self, sql: str, *values: Any) -> None:
        """Do what gives no rows."""
        with self._explained():
            self._connection.execute(sql, values)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Do what is done inside wholly or not at all, and let no other process come between."""
        self.execute("begin immediate")
        try:
            yield
            self.execute("commit")
        finally:
            if self._connection.in_transaction:  # an error; SQLite has ended some transactions by itself by now
                self.execute("rollback")

    def damage(self) -> BadFolder | None:
        """Look through all of the file: what to say of it where it is not sound."""
        try:
            whole = self._connection.execute("pragma integrity_check(1)").fetchone()
        except _SAID as error:
            return self._unusable(error)
        return None if whole == ("ok",) else self._damaged(whole[0])

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except _SAID as error:
            raise self._unusable(error) from error

    def _unusable(self, error: sqlite3.Error | UnicodeDecodeError) -> BadFolder:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        # a database may also say of itself that nobody can write it
        sound = self._read_only() if code == sqlite3.SQLITE_READONLY else code in _HINDERED
        return explain_unusable(self.file.parent, error) if sound else self._damaged(str(error))

    def _read_only(self) -> bool:
        """Whether folder or database may not be written, or are not there."""
        files = (self.file.parent, self.file, *self.file.parent.glob(f"{self.file.name}-*"))
        return not all(os.access(file, os.W_OK) for file in files)

    def _damaged(self, why: str) -> BadFolder:
        return BadFolder(
            f"{self.file} is damaged ({' '.join(why.split())}): remove it and all whose names begin "
            "like it, and give the command again; what it held is made again, and the folders of runs stay"
        )


def explain_unusable(folder: Path, error: Exception) -> BadFolder:
    """What to say of a cache folder where something keeps one from using it."""
    if isinstance(error, FileNotFoundError):
        return explain_loss(folder, "it")
    why = error.strerror or error if isinstance(error, OSError) else error
    return BadFolder(
        f"cache folder {folder}: {why}; mend that or name another one in T2I_CACHE_DIR. "
        "What was kept before is safe."
    )


def explain_loss(folder: Path, what: str) -> BadFolder:
    """What to say where something that was kept in a cache folder, or found there, is not there any more."""
    return BadFolder(
        f"cache folder {folder}: {what} was taken away or altered while the run went on; the same "
        "command, given again, makes up for it"
    )


def seal(table: str, row: Sequence[Any]) -> int:
    """A checksum of a row's fields and of its table: tables share keys, and pages may change places."""
    crc = _of_name(table)
    plain = []
    for field in row:
        if type(field) is bytes:
            crc = crc32(field, crc)
        else:
            plain.append(field)
    return crc32(repr(plain).encode(), crc) if plain else crc


@cache
def _of_name(table: str) -> int:
    return crc32(table.encode())
