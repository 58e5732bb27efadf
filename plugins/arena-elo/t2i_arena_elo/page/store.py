"""Where votes are kept: one SQLite file, in which a vote is on the disk before anybody is told that it is.

Every change is a transaction (WAL, synchronous=FULL). A task has one answer at most, whatever is sent twice: an
index sees to that.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.errors import BadFolder

APPLICATION = 0x74326176  # "t2av", so that a database of anybody else is told apart
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


@dataclass(frozen=True)
class Annotator:
    """One who votes. token: the secret of their link."""

    id: int
    name: str
    token: str


@dataclass(frozen=True)
class Task:
    """What an annotator is shown.

    id:           opaque, sent with the answer: whatever is sent twice under it counts once
    place:        its number among the annotator's tasks, from 1
    part:         `training`, `control` (an answer is expected, and not told) or `vote`
    left, right:  the models; one model on both sides, or nothing on the right, where no two are compared
    seeds:        of the images
    left_pictures, right_pictures: opaque ids
    expected:     the right answers, of a training or control task
    why:          what is told after a training task
    """

    id: str
    place: int
    part: str
    prompt: str
    left: str
    right: str
    seeds: tuple[int, ...]
    left_pictures: tuple[str, ...]
    right_pictures: tuple[str, ...]
    expected: dict[str, str] | None = None
    why: str = ""


@dataclass(frozen=True)
class Vote:
    """An answer that stands. seconds: from when the task was first shown."""

    task: Task
    annotator: str
    answers: dict[str, str]
    time: float
    seconds: float


class VotingStore:
    """The file of one study. Threads may share it: one at a time changes it.

    must_exist: for who only reads
    """

    def __init__(self, path: Path, must_exist: bool = False) -> None:
        self.path = path
        self._lock = threading.RLock()
        there = is_there(path)
        if must_exist and not there:
            raise BadFolder(f"{path}: no such file; votes are kept there by t2i arena serve --votes {path}")
        try:
            if not there:
                _create(path)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma synchronous=full")
            self._db.execute("pragma foreign_keys=on")
        except (sqlite3.Error, OSError) as error:
            raise BadFolder(f"{path}: cannot be opened or written ({error}); mend that or name another") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Do what is done inside wholly or not at all; when the block has ended it is on the disk."""
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
            raise BadFolder(f"{self.path}: {error}; what was saved before stays") from error

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: Any) -> Any:
        with self._lock, self._explained():
            return self._db.execute(sql, values).fetchone()

    # the study -------------------------------------------------------------------------------------------------

    def study(self) -> dict[str, Any]:
        """What is known of the study: its rules and secrets."""
        return {key: json.loads(value) for key, value in self._rows("select key, value from study")}

    def put_study(self, **values: Any) -> None:
        """Remember something of the study."""
        with self.changing():
            for key, value in values.items():
                self._db.execute("insert or replace into study values (?, ?)", (key, json.dumps(value)))

    def put_prompts(self, prompts: Iterable[tuple[str, str, str]]) -> None:
        """Keep prompts: id, text, subset. Raises BadFolder where one has another text here."""
        with self.changing():
            for id, text, subset in prompts:
                self._db.execute("insert or ignore into prompts values (?, ?, ?)", (id, text, subset))
                (kept,) = self._one("select text from prompts where id = ?", id)
                if kept != text:
                    raise BadFolder(f"{self.path}: has votes on another prompt {id!r}; name another file of votes")

    def prompts(self) -> dict[str, tuple[str, str]]:
        """Text and subset of each prompt, by its id."""
        return {id: (text, subset) for id, text, subset in self._rows("select id, text, subset from prompts")}

    def put_pictures(self, pictures: Iterable[tuple[str, str, int, str]]) -> list[str]:
        """Keep pictures (model, prompt, seed, digest); return the opaque id of each, always the same.

        Raises BadFolder where another picture stands in its place.
        """
        ids = []
        with self.changing():
            for model, prompt, seed, digest in pictures:
                values = (secrets.token_urlsafe(12), model, prompt, seed, digest)
                self._db.execute("insert or ignore into pictures values (?, ?, ?, ?, ?)", values)
                sql = "select id, digest from pictures where model = ? and prompt = ? and seed = ?"
                id, kept = self._one(sql, model, prompt, seed)
                if kept != digest:
                    raise BadFolder(
                        f"{self.path}: has votes on another image of {model!r}, prompt {prompt!r}, seed {seed}; "
                        "name another file of votes"
                    )
                ids.append(id)
        return ids

    # annotators ------------------------------------------------------------------------------------------------

    def add_annotator(self, name: str) -> tuple[Annotator, bool]:
        """Return the annotator of a name, and whether they were added just now."""
        with self.changing():
            values = (name, secrets.token_urlsafe(24), time.time())
            sql = "insert or ignore into annotators (name, token, began) values (?, ?, ?)"
            new = self._db.execute(sql, values).rowcount == 1
            return Annotator(*self._one("select id, name, token from annotators where name = ?", name)), new

    def annotator(self, token: str) -> Annotator | None:
        """Whose link has this token."""
        row = self._one("select id, name, token from annotators where token = ?", token)
        return row and Annotator(*row)

    def annotators(self) -> list[Annotator]:
        """Everybody, in the order in which they came."""
        return [Annotator(*row) for row in self._rows("select id, name, token from annotators order by id")]

    # tasks and votes -------------------------------------------------------------------------------------------

    def add_task(self, annotator: int, task: Task) -> None:
        """Keep a task that is about to be shown; inside `changing`."""
        values = (
            *(task.id, annotator, task.place, task.part, task.prompt, task.left, task.right),
            *(json.dumps(part) for part in (task.seeds, task.left_pictures, task.right_pictures)),
            *(None if task.expected is None else _plain(task.expected), task.why, time.time()),
        )
        self._db.execute(f"insert into tasks values ({', '.join('?' * len(values))})", values)

    def drop_task(self, id: str) -> None:
        """Take back a task that has no answer that stands."""
        with self.changing():
            self._db.execute("delete from votes where task = ? and undone is not null", (id,))
            self._db.execute("delete from tasks where id = ?", (id,))

    def tasks(self) -> Iterator[tuple[int, Task]]:
        """Every task, with its annotator's number, in the order in which they were shown."""
        for annotator, *row in self._rows(f"select annotator, {_TASK} from tasks order by rowid"):
            yield annotator, _task(row)

    def task(self, annotator: int, id: str) -> Task | None:
        """An annotator's task of this id."""
        row = self._one(f"select {_TASK} from tasks where id = ? and annotator = ?", id, annotator)
        return row and _task(row)

    def open_task(self, annotator: int) -> Task | None:
        """The first of an annotator's tasks that has no answer."""
        sql = f"""select {_TASK} from tasks where annotator = ? and not exists
                  (select 1 from votes where task = tasks.id and undone is null) order by place limit 1"""
        row = self._one(sql, annotator)
        return row and _task(row)

    def answers(self, task: str) -> dict[str, str] | None:
        """The answers to a task that stand."""
        row = self._one("select answers from votes where task = ? and undone is null", task)
        return None if row is None else dict(json.loads(row[0]))

    def add_vote(self, task: str, answers: dict[str, str]) -> None:
        """Keep an answer; inside `changing`. Raises sqlite3.IntegrityError where one stands already."""
        now = time.time()
        (shown,) = self._one("select shown from tasks where id = ?", task)
        values = (task, _plain(answers), now, max(now - shown, 0.0))
        self._db.execute("insert into votes (task, answers, time, seconds) values (?, ?, ?, ?)", values)

    def undo(self, task: str) -> None:
        """Take back the answer to a task. It is kept, and counts no more."""
        with self.changing():
            self._db.execute("update votes set undone = ? where task = ? and undone is null", (time.time(), task))

    def last_place(self, annotator: int) -> int:
        """The number of the annotator's last task; 0 before the first."""
        (place,) = self._one("select coalesce(max(place), 0) from tasks where annotator = ?", annotator)
        return int(place)

    def last_answered(self, annotator: int) -> tuple[Task, float] | None:
        """The last of an annotator's tasks that is answered, and the seconds that it took."""
        sql = f"select seconds, {_TASK} {_STANDING} and annotator = ? order by place desc limit 1"
        row = self._one(sql, annotator)
        return row and (_task(row[1:]), row[0])

    def marks(self, annotator: int, fastest: float) -> dict[str, tuple[int, int, int]]:
        """Of each part: how many answers stand, how many are as expected, how many took less than `fastest`."""
        sql = f"""select part, count(*), total(answers is expected), total(seconds < ?) {_STANDING}
                  and annotator = ? group by part"""
        return {part: tuple(map(int, counts)) for part, *counts in self._rows(sql, fastest, annotator)}

    def training(self, annotator: int) -> list[tuple[Task, bool]]:
        """An annotator's training tasks that are answered, in their order, and whether the answer was right."""
        where = "annotator = ? and part = 'training' order by place"
        sql = f"select answers is expected, {_TASK} {_STANDING} and {where}"
        return [(_task(task), bool(right)) for right, *task in self._rows(sql, annotator)]

    def count(self) -> int:
        """How many answers stand, but for those of training."""
        return int(self._one(f"select count(*) {_STANDING} and part != 'training'")[0])

    def votes(self) -> Iterator[Vote]:
        """The answers that stand, by annotator and place."""
        sql = f"""select (select name from annotators where id = annotator), answers, time, seconds, {_TASK}
                  {_STANDING} order by annotator, place"""
        for name, answers, at, seconds, *task in self._rows(sql):
            yield Vote(_task(task), name, json.loads(answers), at, seconds)


_COLUMNS = (
    *("id", "place", "part", "prompt", "left_model", "right_model"),
    *("seeds", "left_pictures", "right_pictures", "expected", "why"),
)
_TASK = ", ".join(f"tasks.{name}" for name in _COLUMNS)
_STANDING = "from votes join tasks on tasks.id = votes.task where undone is null"


def _plain(answers: dict[str, str]) -> str:
    """Answers as text, the same for the same answers."""
    return json.dumps(answers, sort_keys=True)


def _task(row: Sequence[Any]) -> Task:
    id, place, part, prompt, left, right, seeds, *pictures, expected, why = row
    lists = [tuple(json.loads(part)) for part in (seeds, *pictures)]
    return Task(id, place, part, prompt, left, right, *lists, expected and json.loads(expected), why)


def _create(path: Path) -> None:
    """Write an empty file of votes, which is there whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)  # it holds the secrets of links
    database = sqlite3.connect(part)
    try:
        database.executescript(_SCHEMA)
        database.execute(f"pragma application_id={APPLICATION}")
        database.execute(f"pragma user_version={VERSION}")
        database.execute("pragma journal_mode=wal")
    finally:
        database.close()
    part.replace(path)


def is_there(path: Path) -> bool:
    """Whether votes are kept in a file already. Nothing is written into what is not ours: raises BadFolder."""
    try:
        if not path.exists():
            if not path.parent.is_dir():
                raise BadFolder(f"{path}: there is no folder {path.parent}")
            return False
        if path.is_dir():
            raise BadFolder(f"{path}: is a folder; want the name of a file for votes")
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise BadFolder(f"{path}: cannot be read ({error.strerror})") from error
    if not head:
        return False
    application, version = (int.from_bytes(head[at : at + 4], "big") for at in (68, 60))
    if not head.startswith(b"SQLite format 3\0") or application != APPLICATION:
        raise BadFolder(f"{path}: is there and holds no votes of t2i arena; name another file")
    if version != VERSION:
        raise BadFolder(f"{path}: written by another version of t2i-arena-elo; name another file")
    return True
