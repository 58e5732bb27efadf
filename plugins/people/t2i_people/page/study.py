"""A study: choosing each annotator's next task, and saving their answers."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from random import Random

from t2i_core.files.image_file import DamagedImage

from .agenda import Agenda, VoteItem
from .annotator_progress import AnnotatorProgress, Rules, standing_of
from .known_answers import KnownTask, KnownTasks, ModelImages
from .pictures import Shelf
from .questions import Answers, StudyQuestion, check_answers
from .records import Annotator, VoteTask
from .store import VotingStore


class VotingStudy:
    """A study on top of a store. It is thread-safe.

    Args:
        store: The file of votes.
        agenda: All items.
        ids: Opaque id of each picture, by model, prompt and seed.
        shelf: The pictures.
        questions: The questions.
        rules: Rules for annotators.
        known: Tasks with a known answer; required if the rules want training or controls.
        damaged: Called with the reason for each image that cannot be shown; its items are left out.
    """

    def __init__(
        self,
        store: VotingStore,
        agenda: Agenda,
        ids: Mapping[tuple[str, str, int], str],
        shelf: Shelf,
        questions: Sequence[StudyQuestion],
        rules: Rules,
        known: KnownTasks | None = None,
        damaged: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.store, self.shelf, self.questions, self.rules = store, shelf, questions, rules
        self._agenda, self._ids, self._known, self._damaged = agenda, ids, known, damaged
        self._lock = threading.Lock()
        self._done: dict[int, set[VoteItem]] = {}
        self._broken: set[VoteItem] = set()
        for annotator, task in store.tasks():
            self._remember(annotator, task)

    def current(self, annotator: Annotator) -> tuple[AnnotatorProgress, VoteTask | None]:
        """Return the annotator's progress and current task; None if there are no more tasks."""
        with self._lock:
            standing = self.standing(annotator)
            task = self._open(annotator)
            if standing.end is not None and (task is None or standing.end != "done"):
                return standing, None
            if task is None and (task := self._next(annotator, standing)) is not None:
                with self.store.changing():
                    self.store.add_task(annotator.id, task)
                self._remember(annotator.id, task)
            return standing, task

    def answer(self, annotator: Annotator, id: str, given: Answers) -> bool:
        """Save an answer. It is on disk when this returns. Sending the same answer again changes nothing.

        Returns:
            False if the task already has a different answer, which stays.

        Raises:
            LookupError: If the task is not the annotator's.
            ValueError: If an answer is missing or not among the choices.
        """
        with self._lock:
            if self.store.task(annotator.id, id) is None:
                raise LookupError(id)
            answers = check_answers(self.questions, given)
            if (before := self.store.answers(id)) is not None:
                return before == answers
            with self.store.changing():
                self.store.add_vote(id, answers)
            return True

    def undo(self, annotator: Annotator, id: str) -> None:
        """Undo the annotator's last answer, if it belongs to this task. The task is then shown again."""
        with self._lock:
            standing = self.standing(annotator)
            if standing.last is not None and standing.last.id == id and standing.end != "careless":
                self.store.undo(id)

    def overview(self) -> str:
        """Return the numbers of tasks, models and prompts, in words."""
        return self._agenda.overview()

    def standing(self, annotator: Annotator) -> AnnotatorProgress:
        """Return the progress of an annotator."""
        return standing_of(self.store, annotator, self.rules)

    def _remember(self, annotator: int, task: VoteTask) -> None:
        if task.part == "vote":
            item = _item(task)
            self._agenda.give(item)
            self._done.setdefault(annotator, set()).add(item)

    def _open(self, annotator: Annotator) -> VoteTask | None:
        """Return the annotator's unanswered task, or None. Drop tasks whose images can no longer be shown."""
        while (task := self.store.open_task(annotator.id)) is not None and not self._can_show(task):
            self._broken.add(_item(task))
            self.store.drop_task(task.id)
        return task

    def _next(self, annotator: Annotator, standing: AnnotatorProgress) -> VoteTask | None:
        """Return a new task for the annotator, or None if nothing is left."""
        place = self.store.last_place(annotator.id) + 1
        random = Random(f"{self.rules.seed} {annotator.name} {place}")
        if not standing.trained:
            return self._known_task("training", place, random)
        done = self._done.get(annotator.id, set()) | self._broken
        while (item := self._agenda.choose(done, random)) is not None:
            if self._control_is_due(annotator, standing.votes):
                return self._known_task("control", place, random)
            sides = [ModelImages(model, item.prompt, item.seeds) for model in item.models]
            random.shuffle(sides)
            task = self._task(place, "vote", item.prompt, sides)
            if self._can_show(task):
                return task
            self._broken.add(item)
            done.add(item)
        return None

    def _control_is_due(self, annotator: Annotator, votes: int) -> bool:
        """Return whether the next task is a control. The controls are at random places, one in each block."""
        if not self.rules.controls:
            return False
        block, place = divmod(votes, self.rules.controls)
        return place == Random(f"{self.rules.seed} {annotator.name} block {block}").randrange(self.rules.controls)

    def _known_task(self, part: str, place: int, random: Random) -> VoteTask | None:
        assert self._known is not None  # the rules want such tasks only together with a source of them
        number = place - 1 if part == "training" else random.randrange(1 << 16)
        for attempt in range(20):
            known: KnownTask = self._known.draw(part, number + attempt, random)
            if known.right is not None and random.random() < 0.5:
                known = known.turned()
            sides = [side for side in (known.left, known.right) if side is not None]
            task = self._task(place, part, known.prompt, sides, known.expected, known.why)
            if self._can_show(task):
                return task
        return None

    def _task(
        self,
        place: int,
        part: str,
        prompt: str,
        sides: Sequence[ModelImages],
        expected: dict[str, str] | None = None,
        why: str = "",
    ) -> VoteTask:
        pictures = [tuple(self._ids[side.model, side.prompt, seed] for seed in side.seeds) for side in sides]
        right = sides[1].model if len(sides) > 1 else ""
        seeds = sides[0].seeds
        return VoteTask(
            secrets.token_urlsafe(16), place, part, prompt, sides[0].model, right, seeds,
            pictures[0], pictures[1] if right else (), expected, why,
        )  # fmt: skip

    def _can_show(self, task: VoteTask) -> bool:
        """Return whether all of a task's images can be shown, and encode them for sending."""
        for id in (*task.left_pictures, *task.right_pictures):
            if id not in self.shelf:
                return False
            try:
                self.shelf.png(id)
            except DamagedImage as error:
                self._damaged(str(error))
                return False
        return True


def _item(task: VoteTask) -> VoteItem:
    return VoteItem(tuple(sorted({task.left, task.right} - {""})), task.prompt, task.seeds)
