"""The database of the voting page: its tables, and how people's answers are read from it.

Every change is a transaction (WAL, synchronous=FULL). An index ensures that a task has at most one answer.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..api.errors import BadFolder
from .answers import CANNOT_TELL, PREFERENCE, HumanAnswer, ShownImages
from .rater_rules import Rules

APPLICATION = 0x74326176  # "t2av", which distinguishes this database from others
VERSION = 2

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
    shown real not null, asked text, probability real, unique (annotator, place)
);
create table votes (
    id integer primary key, task text not null references tasks, answers text not null, time real not null,
    seconds real not null, undone real
);
create unique index one_vote on votes (task) where undone is null;
create index votes_of_task on votes (task);
"""
# `asked`: the questions of a task in words, by name, if they are not the study's

_FROM_VERSION_1 = """
alter table tasks add column asked text;
alter table tasks add column probability real;
update votes set answers = replace(answers, '"verdict": ', '"preference": ');
update votes set answers = replace(answers, ': "unknown"', ': "cannot-tell"');
update tasks set expected = replace(expected, '"verdict": ', '"preference": ');
update tasks set expected = replace(expected, ': "unknown"', ': "cannot-tell"');
"""


class AnswerDatabase:
    """An open database of answers. It is thread-safe.

    Args:
        path: The file. One of an earlier version is brought to this one.
        must_exist: Whether to raise an error, instead of creating the file, if it does not exist.

    Raises:
        BadFolder: If the file cannot be opened or created, or is another kind of file.
    """

    def __init__(self, path: Path, must_exist: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        version = find_version(path)
        if must_exist and version is None:
            raise BadFolder(f"{path}: no such file; t2i people serve creates it")
        try:
            if version is None:
                _create(path)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma synchronous=full")
            self._db.execute("pragma foreign_keys=on")
            if version == 1:
                self._db.executescript(f"begin immediate; {_FROM_VERSION_1} pragma user_version={VERSION}; commit")
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
            damaged = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            what = "restore a copy, or name another file" if damaged else "earlier answers are safe"
            raise BadFolder(f"{self.path}: {error}; {what}") from error

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: Any) -> Any:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchone()


def _create(path: Path) -> None:
    """Create an empty database, atomically."""
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


def find_version(path: Path) -> int | None:
    """Return the version of a database of answers; None if there is no file, or an empty one.

    Raises:
        BadFolder: If there is another file or a folder, the parent folder is missing, or the file cannot be read.
    """
    try:
        if not path.exists():
            if not path.parent.is_dir():
                raise BadFolder(f"{path}: folder {path.parent} does not exist; create it or name another file")
            return None
        if path.is_dir():
            raise BadFolder(f"{path}: is a folder; name a file for the answers")
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise BadFolder(f"{path}: cannot be read ({error.strerror})") from error
    if not head:
        return None
    application, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    if not head.startswith(b"SQLite format 3\0") or application != APPLICATION:
        raise BadFolder(f"{path}: is not a database of answers (t2i people serve); name another file")
    if version not in (1, VERSION):
        raise BadFolder(f"{path}: written by a newer version of t2i; update t2i or name another file")
    return version


def read_database(path: Path) -> tuple[list[HumanAnswer], Rules]:
    """Return all answers that are not undone, by rater in the order in which they were given, and the rules.

    The file is not changed, also if a page is serving it.

    Raises:
        BadFolder: If the file does not exist, cannot be read, or is another kind of file.
    """
    version = find_version(path)
    if version is None:
        raise BadFolder(f"{path}: no such file, or an empty one; t2i people serve creates it")
    try:
        with _open_to_read(path) as database:
            return _read(database, version)
    except sqlite3.Error as error:
        raise BadFolder(f"{path}: cannot be read ({error})") from error


@contextmanager
def _open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    address = path.absolute().as_uri()
    # without its log the file is whole, and a folder that cannot be written to can hold it
    whole = not path.with_name(f"{path.name}-wal").exists()
    database = sqlite3.connect(f"{address}?{'immutable=1' if whole else 'mode=ro'}", uri=True, timeout=30)
    try:
        yield database
    finally:
        database.close()


def _read(database: sqlite3.Connection, version: int) -> tuple[list[HumanAnswer], Rules]:
    study = {key: json.loads(value) for key, value in database.execute("select key, value from study")}
    known = {field.name for field in fields(Rules)}
    rules = Rules(**{name: value for name, value in study.get("rules", {}).items() if name in known})
    pictures = {id: place for id, *place in database.execute("select id, model, seed, digest from pictures")}
    subsets = dict(database.execute("select id, subset from prompts"))
    texts = {each["name"]: each["text"] for each in study.get("questions", ())}
    choices = {each["name"]: tuple(each.get("choices", ())) for each in study.get("questions", ())}
    if study.get("question"):
        texts.setdefault(PREFERENCE, study["question"])
    added = "asked, probability" if version > 1 else "null, null"
    rows = database.execute(
        f"""select name, answers, time, seconds, tasks.id, part, prompt, left_pictures, right_pictures, expected,
            {added} from votes join tasks on tasks.id = votes.task join annotators on annotators.id = annotator
            where undone is null order by annotator, place"""
    )
    found = []
    for rater, answers, time, seconds, task, part, prompt, left, right, expected, asked, probability in rows:
        sides = [_find_side(json.loads(side), pictures) for side in (left, right)]
        right_answers = _name_as_now(json.loads(expected)) if expected else {}
        asked_texts = json.loads(asked) if asked else texts
        for question, answer in _name_as_now(json.loads(answers)).items():
            found.append(
                HumanAnswer(
                    rater=rater,
                    question=question,
                    answer=answer,
                    shown=tuple(side for side in sides if side.digests),
                    prompt=prompt,
                    text=asked_texts.get(question, ""),
                    subset=subsets.get(prompt, ""),
                    time=time,
                    seconds=seconds,
                    part="answer" if part == "vote" else part,
                    expected=right_answers.get(question, ""),
                    task=task,
                    instructions=study.get("instructions", ""),
                    probability=probability,
                    choices=() if asked else choices.get(question, ()),
                )
            )
    return found, rules


def _find_side(ids: Sequence[str], pictures: Mapping[str, Sequence[Any]]) -> ShownImages:
    own = [pictures[id] for id in ids]
    return ShownImages(own[0][0] if own else "", tuple(seed for _, seed, _ in own), tuple(d for _, _, d in own))


def _name_as_now(answers: Mapping[str, str]) -> dict[str, str]:
    """Return answers by question under today's names; version 1 had others."""
    return {
        PREFERENCE if question == "verdict" else question: CANNOT_TELL if answer == "unknown" else answer
        for question, answer in answers.items()
    }
