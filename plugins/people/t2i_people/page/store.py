"""Queries on the file of a study."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadFolder
from t2i_core.io.answer_database import AnswerDatabase
from t2i_core.io.rater_rules import RaterRecord, Rules, are_right

from .records import Annotator, VoteTask

if TYPE_CHECKING:
    from .agenda import VoteItem


class VotingStore(AnswerDatabase):
    """The study in one file: its rules, prompts, pictures, annotators, tasks and votes."""

    # the study -------------------------------------------------------------------------------------------------

    def study(self) -> dict[str, Any]:
        """Return the study's rules and secrets, by name."""
        return {key: json.loads(value) for key, value in self._rows("select key, value from study")}

    def put_study(self, **values: Any) -> None:
        """Store values of the study, by name."""
        with self.changing():
            for key, value in values.items():
                self._db.execute("insert or replace into study values (?, ?)", (key, json.dumps(value)))

    def put_prompts(self, prompts: Iterable[tuple[str, str, str]]) -> None:
        """Store prompts (id, text, subset).

        Raises:
            BadFolder: If a prompt is already stored with another text.
        """
        with self.changing():
            for id, text, subset in prompts:
                self._db.execute("insert or ignore into prompts values (?, ?, ?)", (id, text, subset))
                (kept,) = self._one("select text from prompts where id = ?", id)
                if kept != text:
                    raise BadFolder(f"{self.path}: has votes on another prompt {id!r}; name another file of votes")

    def prompts(self) -> dict[str, tuple[str, str]]:
        """Return the text and subset of each prompt, by id."""
        return {id: (text, subset) for id, text, subset in self._rows("select id, text, subset from prompts")}

    def put_pictures(self, pictures: Iterable[tuple[str, str, int, str]]) -> list[str]:
        """Store pictures (model, prompt, seed, digest), and return the opaque id of each, which never changes.

        Raises:
            BadFolder: If another picture is already stored for a model, prompt and seed.
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
        """Return the annotator of this name, adding them if they are new.

        Args:
            name: The annotator's name.
            token: Token of a new annotator's link. If None, a random one.
        """
        with self.changing():
            values = (name, token or secrets.token_urlsafe(24), time.time())
            self._db.execute("insert or ignore into annotators (name, token, began) values (?, ?, ?)", values)
            return Annotator(*self._one("select id, name, token from annotators where name = ?", name))

    def annotator(self, token: str) -> Annotator | None:
        """Return the annotator whose link has this token, or None."""
        row = self._one("select id, name, token from annotators where token = ?", token)
        return row and Annotator(*row)

    def annotators(self) -> list[Annotator]:
        """Return all annotators, in the order in which they joined."""
        return [Annotator(*row) for row in self._rows("select id, name, token from annotators order by id")]

    # tasks and votes -------------------------------------------------------------------------------------------

    def add_task(self, annotator: int, task: VoteTask) -> None:
        """Store a task that is about to be shown. Call this inside `changing`."""
        values = {
            **{"id": task.id, "annotator": annotator, "place": task.place, "part": task.part},
            **{"prompt": task.prompt, "left_model": task.left, "right_model": task.right},
            **{"seeds": json.dumps(task.seeds), "left_pictures": json.dumps(task.left_pictures)},
            "right_pictures": json.dumps(task.right_pictures),
            "expected": None if task.expected is None else _plain(task.expected),
            "why": task.why,
            "asked": None if task.asked is None else _plain(task.asked),
            "probability": task.probability,
            "shown": time.time(),
        }
        columns, places = ", ".join(values), ", ".join("?" * len(values))
        self._db.execute(f"insert into tasks ({columns}) values ({places})", tuple(values.values()))

    def drop_task(self, id: str) -> None:
        """Delete a task without an answer, together with its undone answers."""
        with self.changing():
            self._db.execute("delete from votes where task = ? and undone is not null", (id,))
            self._db.execute("delete from tasks where id = ?", (id,))

    def tasks(self) -> Iterator[tuple[int, VoteTask]]:
        """Yield every task with the id of its annotator, in the order in which they were shown."""
        for annotator, *row in self._rows(f"select annotator, {_TASK} from tasks order by rowid"):
            yield annotator, _task(row)

    def put_probabilities(self, items: Iterable[tuple[VoteItem, float | None]]) -> None:
        """Store with which probability items were drawn, also with tasks shown before a larger draw changed it."""
        sql = """update tasks set probability = ? where part = 'vote' and prompt = ? and seeds = ?
                 and min(left_model, right_model) = ? and max(left_model, right_model) = ?"""
        with self.changing():
            for item, probability in items:
                left, right = item.models if len(item.models) == 2 else ("", item.models[0])
                self._db.execute(sql, (probability, item.prompt, json.dumps(item.seeds), left, right))

    def task(self, annotator: int, id: str) -> VoteTask | None:
        """Return an annotator's task with this id, or None."""
        row = self._one(f"select {_TASK} from tasks where id = ? and annotator = ?", id, annotator)
        return row and _task(row)

    def open_task(self, annotator: int) -> VoteTask | None:
        """Return the first of an annotator's tasks without an answer, or None."""
        sql = f"""select {_TASK} from tasks where annotator = ? and not exists
                  (select 1 from votes where task = tasks.id and undone is null) order by place limit 1"""
        row = self._one(sql, annotator)
        return row and _task(row)

    def answers(self, task: str) -> dict[str, str] | None:
        """Return the answers to a task; None if the task is unanswered or the answers were undone."""
        row = self._one("select answers from votes where task = ? and undone is null", task)
        return None if row is None else dict(json.loads(row[0]))

    def add_vote(self, task: str, answers: dict[str, str]) -> None:
        """Store an answer. Call this inside `changing`.

        Raises:
            sqlite3.IntegrityError: If the task already has an answer.
        """
        now = time.time()
        (shown,) = self._one("select shown from tasks where id = ?", task)
        values = (task, _plain(answers), now, max(now - shown, 0.0))
        self._db.execute("insert into votes (task, answers, time, seconds) values (?, ?, ?, ?)", values)

    def undo(self, task: str) -> None:
        """Undo the answer to a task. It stays in the file but no longer counts."""
        with self.changing():
            self._db.execute("update votes set undone = ? where task = ? and undone is null", (time.time(), task))

    def last_place(self, annotator: int) -> int:
        """Return the number of the annotator's last task; 0 before the first."""
        (place,) = self._one("select coalesce(max(place), 0) from tasks where annotator = ?", annotator)
        return int(place)

    def last_answered(self, annotator: int) -> tuple[VoteTask, float] | None:
        """Return the annotator's last answered task and the seconds that it took, or None."""
        sql = f"select seconds, {_TASK} {_STANDING} and annotator = ? order by place desc limit 1"
        row = self._one(sql, annotator)
        return row and (_task(row[1:]), row[0])

    def record(self, annotator: int, rules: Rules) -> RaterRecord:
        """Return what an annotator has done, training left out."""
        found = RaterRecord()
        sql = f"""select seconds, part, answers, expected {_STANDING}
                  and annotator = ? and part != 'training' order by place"""
        for seconds, part, answers, expected in self._rows(sql, annotator):
            found.add(seconds, _is_right(answers, expected) if part == "control" else None, rules)
        return found

    def training(self, annotator: int) -> list[tuple[VoteTask, bool]]:
        """Return an annotator's answered training tasks, in order, and whether each answer was right."""
        where = "annotator = ? and part = 'training' order by place"
        sql = f"select answers, {_TASK} {_STANDING} and {where}"
        found = [(answers, _task(task)) for answers, *task in self._rows(sql, annotator)]
        return [(task, are_right(json.loads(answers), task.expected or {})) for answers, task in found]

    def count(self) -> int:
        """Return the number of answers, without training and without undone ones."""
        return int(self._one(f"select count(*) {_STANDING} and part != 'training'")[0])


_COLUMNS = (
    *("id", "place", "part", "prompt", "left_model", "right_model"),
    *("seeds", "left_pictures", "right_pictures", "expected", "why", "asked", "probability"),
)
_TASK = ", ".join(f"tasks.{name}" for name in _COLUMNS)
_STANDING = "from votes join tasks on tasks.id = votes.task where undone is null"


def _plain(answers: dict[str, str]) -> str:
    """Return answers as canonical JSON: equal answers give equal text."""
    return json.dumps(answers, sort_keys=True)


def _task(row: Sequence[Any]) -> VoteTask:
    id, place, part, prompt, left, right, *lists, expected, why, asked, probability = row
    seeds, left_pictures, right_pictures = (tuple(json.loads(cell)) for cell in lists)
    known, words = (cell and json.loads(cell) for cell in (expected, asked))
    return VoteTask(
        id, place, part, prompt, left, right, seeds, left_pictures, right_pictures, known, why, words, probability
    )


def _is_right(answers: str, expected: str | None) -> bool:
    return are_right(json.loads(answers), json.loads(expected or "{}"))
