"""File of a study: an SQLite database. A vote is on disk before its response is sent.

Every change is a transaction (WAL, synchronous=FULL). An index ensures that a task has at most one answer.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadFolder

APPLICATION = 0x74326176  # "t2av", which distinguishes files of votes from other databases
VERSION = 1

_SCHEMA = """
create table study (key text primary key, value text not null) without rowid;
create table prompts (id text primary key, text text not null, subset text not null) without rowid;
create table pictures (
    id text primary key, model text not null, prompt text not null, seed integer not null, digest text not null,
    unique (model, prompt, seed)
) without rowid;
create table annotators (
    id integer primary key, name text not null unique, token text not null unique, began real not null
);
create table tasks (
    id text primary key, annotator integer not null references annotators, place integer not null,
    part text not null check (part in ('training', 'control', 'vote')), prompt text not null,
    left_model text not null, right_model text not null, seeds text not null,
    left_pictures text not null, right_pictures text not null, expected text, why text not null,
    shown real not null, unique (annotator, place)
);
create table votes (
    id integer primary key, task text not null references tasks, answers text not null, time real not null,
    seconds real not null, undone real
);
create unique index one_vote on votes (task) where undone is null;
create index votes_of_task on votes (task);
"""


class VotesFile:
    """An open file of votes. It is thread-safe.

    Args:
        path: The file.
        must_exist: Whether to raise an error, instead of creating the file, if it does not exist.

    Raises:
        BadFolder: If the file cannot be opened or created, or is not a file of votes.
    """

    def __init__(self, path: Path, must_exist: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        found = exists(path)
        if must_exist and not found:
            raise BadFolder(f"{path}: no such file; t2i arena serve --votes {path} creates it")
        try:
            if not found:
                _create(path)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma synchronous=full")
            self._db.execute("pragma foreign_keys=on")
        except (sqlite3.Error, OSError) as error:
            raise BadFolder(
                f"{path}: cannot be opened or written ({error}); fix its permissions or name another file"
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Run the block in one transaction. Its changes are on disk when the block ends."""
        with self._lock, self._explained():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            finally:
                if self._db.in_transaction:
                    self._db.execute("rollback")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.Error as error:
            raise BadFolder(f"{self.path}: {error}; earlier votes are safe") from error

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: Any) -> Any:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchone()


def _create(path: Path) -> None:
    """Create an empty file of votes, atomically."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)  # the file holds the secrets of links
    database = sqlite3.connect(part)
    try:
        database.executescript(_SCHEMA)
        database.execute(f"pragma application_id={APPLICATION}")
        database.execute(f"pragma user_version={VERSION}")
        database.execute("pragma journal_mode=wal")
    finally:
        database.close()
    part.replace(path)


def exists(path: Path) -> bool:
    """Return whether a file of votes exists.

    Raises:
        BadFolder: If there is another file or a folder, the parent folder is missing, or the file cannot be read.
    """
    try:
        if not path.exists():
            if not path.parent.is_dir():
                raise BadFolder(f"{path}: folder {path.parent} does not exist; create it or name another file")
            return False
        if path.is_dir():
            raise BadFolder(f"{path}: is a folder; name a file for the votes")
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise BadFolder(f"{path}: cannot be read ({error.strerror})") from error
    if not head:
        return False
    application, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    if not head.startswith(b"SQLite format 3\0") or application != APPLICATION:
        raise BadFolder(f"{path}: exists and is not a file of votes of t2i arena; name another file")
    if version != VERSION:
        raise BadFolder(f"{path}: written by another version of t2i-arena-elo; name another file")
    return True
