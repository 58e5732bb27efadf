"""What is kept in the file of a study, and found there again."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from t2i_core.api.errors import BadFolder

from .records import Annotator, Vote, VoteTask
from .votes_file import VotesFile


class VotingStore(VotesFile):
    """The study of one file: its rules, prompts and pictures, its annotators, their tasks and votes."""

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

    def add_annotator(self, name: str, token: str | None = None) -> Annotator:
        """Return the annotator of this name, adding them if there is none.

        Args:
            name: The annotator's name.
            token: Token of a new annotator's link. If None, a random one.
        """
        with self.changing():
            values = (name, token or secrets.token_urlsafe(24), time.time())
            self._db.execute("insert or ignore into annotators (name, token, began) values (?, ?, ?)", values)
            return Annotator(*self._one("select id, name, token from annotators where name = ?", name))

    def annotator(self, token: str) -> Annotator | None:
        """Whose link has this token."""
        row = self._one("select id, name, token from annotators where token = ?", token)
        return row and Annotator(*row)

    def annotators(self) -> list[Annotator]:
        """Everybody, in the order in which they came."""
        return [Annotator(*row) for row in self._rows("select id, name, token from annotators order by id")]

    # tasks and votes -------------------------------------------------------------------------------------------

    def add_task(self, annotator: int, task: VoteTask) -> None:
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

    def tasks(self) -> Iterator[tuple[int, VoteTask]]:
        """Every task, with its annotator's number, in the order in which they were shown."""
        for annotator, *row in self._rows(f"select annotator, {_TASK} from tasks order by rowid"):
            yield annotator, _task(row)

    def task(self, annotator: int, id: str) -> VoteTask | None:
        """An annotator's task of this id."""
        row = self._one(f"select {_TASK} from tasks where id = ? and annotator = ?", id, annotator)
        return row and _task(row)

    def open_task(self, annotator: int) -> VoteTask | None:
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

    def last_answered(self, annotator: int) -> tuple[VoteTask, float] | None:
        """The last of an annotator's tasks that is answered, and the seconds that it took."""
        sql = f"select seconds, {_TASK} {_STANDING} and annotator = ? order by place desc limit 1"
        row = self._one(sql, annotator)
        return row and (_task(row[1:]), row[0])

    def marks(self, annotator: int, fastest: float) -> dict[str, tuple[int, int, int]]:
        """Of each part: how many answers stand, how many are as expected, how many took less than `fastest`."""
        sql = f"""select part, count(*), total(answers is expected), total(seconds < ?) {_STANDING}
                  and annotator = ? group by part"""
        return {part: tuple(map(int, counts)) for part, *counts in self._rows(sql, fastest, annotator)}

    def training(self, annotator: int) -> list[tuple[VoteTask, bool]]:
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


def _task(row: Sequence[Any]) -> VoteTask:
    id, place, part, prompt, left, right, seeds, *pictures, expected, why = row
    lists = [tuple(json.loads(part)) for part in (seeds, *pictures)]
    return VoteTask(id, place, part, prompt, left, right, *lists, expected and json.loads(expected), why)
