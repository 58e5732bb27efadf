"""Values under keys, in tables of SQLite in WAL mode: several processes may use them, and a kill harms none.

Each row begins with key and value. The stored value ends with a CRC of table, key and value. A row with a wrong
CRC counts as not there.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from ..api.errors import BadFolder

_BLOCK = 64
"""Number of rows that one query reads."""

_CRC_BYTES = 4

_CRC_OF_WHOLE = 0x2144DF1C
"""The CRC-32 of any bytes that end with their own CRC-32, little-endian."""

_HINDERED = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
}
"""Errors that keep SQLite from working on a sound database. Any other error means that the database is damaged."""

_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Errors of SQLite; the second one is raised if its message quotes damaged text from the database."""


_CONNECTION: Mapping[str, Any] = {"timeout": 120, "isolation_level": None, "check_same_thread": False}


class Database:
    """Tables in a file. Every error of the file is a BadFolder that says what to do.

    Several threads may use it; each statement or transaction of one excludes the others'.

    Args:
        file: Where the database is, or will be.
        schema: SQL that makes the tables if they are not there yet. Their first columns are `key` and `value`.
        read_only: Whether nothing is written. A database that does not exist then counts as empty.
    """

    def __init__(self, file: Path, schema: str, read_only: bool = False) -> None:
        self.file = file
        self._lock = threading.RLock()
        try:
            own = _connect_to_read(file, schema) if read_only else sqlite3.connect(file, **_CONNECTION)
            read_only = read_only and own is not None
            self._connection = own or sqlite3.connect(":memory:", **_CONNECTION)
            # a damaged text need not be UTF-8 any more
            self._connection.text_factory = lambda text: text.decode("utf-8", "replace")
        except _ERRORS as error:
            raise self._unusable(error) from error
        if read_only:
            return
        try:
            # a classifier's answer, 4 kB, does not fit on a page of the default size; for new databases only
            self.execute("pragma page_size=8192")
            self.execute("pragma cache_size=-16000")  # 16 MB: keys are in random order
            self.execute("pragma journal_mode=wal")
            self.execute("pragma synchronous=normal")
            for statement in schema.split(";\n"):
                self.execute(statement)
        except BadFolder:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def get(self, table: str, key: bytes) -> tuple[Any, ...] | None:
        """Return the value of one key. See `get_many`."""
        return self.get_many(table, [key])[0]

    def get_many(self, table: str, keys: Sequence[bytes], *columns: str) -> list[tuple[Any, ...] | None]:
        """Return the values of some keys, and other columns of their rows.

        Args:
            table: The table.
            keys: The keys.
            columns: Names of other columns. The CRC does not cover them.

        Returns:
            For each key the value and the columns; None if there is no row, or if its value is damaged.
        """
        of_table = crc32(table.encode())
        found: list[tuple[Any, ...] | None] = []
        for start in range(0, len(keys), _BLOCK):
            part = keys[start : start + _BLOCK]
            rows = self.execute(_select(table, columns, len(part)), *part)
            # the CRC covers the key that was asked for, because a damaged index may lead to another row
            found += [
                (value[:-_CRC_BYTES], *others)
                if type(value) is bytes and crc32(value, crc32(key, of_table)) == _CRC_OF_WHOLE
                else None
                for key, (value, *others) in zip(part, rows, strict=True)
            ]
        return found

    def put(self, table: str, key: bytes, value: bytes, *others: Any) -> None:
        """Put a row. It replaces another one under this key."""
        self._insert("replace", table, key, value, others)

    def add(self, table: str, key: bytes, value: bytes, *others: Any) -> bool:
        """Put a row unless there is one under this key, damaged or not; return whether it was put."""
        return self._insert("ignore", table, key, value, others)

    def _insert(self, otherwise: str, table: str, key: bytes, value: bytes, others: tuple[Any, ...]) -> bool:
        crc = crc32(value, crc32(key, crc32(table.encode())))
        stored = value + crc.to_bytes(_CRC_BYTES, "little")
        places = ", ".join("?" * (2 + len(others)))
        sql = f"insert or {otherwise} into {table} values ({places})"
        return self._carry_out(sql, (key, stored, *others))[1] == 1

    def execute(self, sql: str, *values: Any) -> list[Any]:
        """Carry out a statement and return its rows, unchecked."""
        return self._carry_out(sql, values)[0]

    def _carry_out(self, sql: str, values: tuple[Any, ...]) -> tuple[list[Any], int]:
        """Carry out a statement; return its rows, unchecked, and the number of rows that it changed."""
        try:
            with self._lock:
                cursor = self._connection.execute(sql, values)
                return cursor.fetchall(), cursor.rowcount
        except sqlite3.ProgrammingError:
            raise
        except _ERRORS as error:
            raise self._unusable(error) from error

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Carry out all statements of a block in one transaction, or none; no other process writes meanwhile."""
        with self._lock:
            self.execute("begin immediate")
            try:
                yield
                self.execute("commit")
            finally:
                if self._connection.in_transaction:  # after some errors SQLite has ended the transaction itself
                    self.execute("rollback")

    def damage(self) -> BadFolder | None:
        """Check the whole file, and return what to say if it is damaged."""
        try:
            whole = self._connection.execute("pragma integrity_check(1)").fetchone()
        except _ERRORS as error:
            return self._unusable(error)
        return None if whole == ("ok",) else self._damaged(whole[0])

    def _unusable(self, error: sqlite3.Error | UnicodeDecodeError) -> BadFolder:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        # a database may also say of itself that nobody can write it
        sound = self._read_only() if code == sqlite3.SQLITE_READONLY else code in _HINDERED
        return explain_unusable(self.file.parent, error) if sound else self._damaged(str(error))

    def _read_only(self) -> bool:
        """Return whether the folder or a file of the database may not be written or is missing."""
        files = (self.file.parent, self.file, *self.file.parent.glob(f"{self.file.name}-*"))
        return not all(os.access(file, os.W_OK) for file in files)

    def _damaged(self, why: str) -> BadFolder:
        return BadFolder(
            f"{self.file} is damaged ({' '.join(why.split())}): remove it and all files whose names begin like "
            "it, and give the command again; t2i then makes again what it held, and run folders stay"
        )


def _connect_to_read(file: Path, schema: str) -> sqlite3.Connection | None:
    """Connect to a database that may lie in a folder that nobody can write; return None if it has no tables yet.

    Readers of a database in WAL mode write the index of its log beside it. Where that is not possible, no process
    can be writing there, so the file itself is whole.
    """
    if not file.exists():
        return None
    count = "select count(*) from sqlite_master where type = 'table'"
    address = f"{file.absolute().as_uri()}?mode=ro"
    for last, more in enumerate(("", "&immutable=1")):
        connection: sqlite3.Connection = sqlite3.connect(address + more, uri=True, **_CONNECTION)
        try:
            (tables,) = connection.execute(count).fetchone()
        except sqlite3.Error as error:
            connection.close()
            unwritable = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            if last or getattr(error, "sqlite_errorcode", 0) & 0xFF not in unwritable:
                raise
        else:
            if tables >= schema.count("create table"):
                return connection
            connection.close()
            break
    return None


@cache
def _select(table: str, columns: tuple[str, ...], count: int) -> str:
    """Return the SQL that reads rows by that many keys, in the order of the keys."""
    wanted = ", ".join(("value", *columns))
    # `in` would sort the keys first, which takes a fifth longer
    places = ", ".join(["(?)"] * count)
    return f"select {wanted} from (values {places}) left join {table} on key = column1"


def explain_unusable(folder: Path, error: Exception) -> BadFolder:
    """Return the error of a cache folder that cannot be used."""
    if isinstance(error, FileNotFoundError):
        return explain_loss(folder, "it")
    why = error.strerror or error if isinstance(error, OSError) else error
    return BadFolder(
        f"cache folder {folder}: {why}; fix that or name another one in T2I_CACHE_DIR. "
        "Images and answers stored before are safe."
    )


def explain_loss(folder: Path, what: str) -> BadFolder:
    """Return the error of something in a cache folder that disappeared or changed while a run needed it."""
    return BadFolder(
        f"cache folder {folder}: {what} was removed or changed during the run; give the same command again"
    )
