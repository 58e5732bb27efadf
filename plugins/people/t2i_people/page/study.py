"""A study: choosing each annotator's next task, and saving their answers."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from t2i_core.files.image_file import DamagedImage
from t2i_core.io.rater_rules import Rules

from .agenda import Agenda, VoteItem
from .annotator_progress import AnnotatorProgress, standing_of
from .forms import StudyForm
from .instructions import Instructions
from .known_answers import KnownTask, KnownTasks, ModelImages
from .label_agenda import LabelAgenda
from .pictures import Shelf
from .questions import Answers, StudyQuestion, check_answers
from .records import Annotator, VoteTask
from .store import VotingStore


class VotingStudy:
    """A study on top of a store. It is thread-safe.

    Args:
        store: The file of votes.
        agenda: All items. Those of a `LabelAgenda` bring their own questions.
        prompts: Text and subset of each prompt, by id.
        ids: Opaque id of each picture, by model, prompt and seed.
        shelf: The pictures.
        form: What annotators see and are asked.
        rules: Rules for annotators.
        known: Tasks with a known answer; required if the rules want training or controls.
        instructions: Shown before the first task; None for none.
        damaged: Called with the reason for each image that cannot be shown; its items are left out.
    """

    def __init__(
        self,
        store: VotingStore,
        agenda: Agenda | LabelAgenda,
        prompts: Mapping[str, tuple[str, str]],
        ids: Mapping[tuple[str, str, int], str],
        shelf: Shelf,
        form: StudyForm,
        rules: Rules,
        known: KnownTasks | None = None,
        instructions: Instructions | None = None,
        damaged: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.store, self.prompts, self.shelf, self.form, self.rules = store, prompts, shelf, form, rules
        self.instructions = instructions
        self._labels = agenda.labels if isinstance(agenda, LabelAgenda) else {}
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
            task = self.store.task(annotator.id, id)
            if task is None or not (questions := self.questions_of(task)):
                raise LookupError(id)
            answers = check_answers(questions, given)
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

    def has_begun(self, annotator: Annotator) -> bool:
        """Return whether the annotator was shown a task."""
        return self.store.last_place(annotator.id) > 0

    def questions_of(self, task: VoteTask) -> Sequence[StudyQuestion]:
        """Return the questions of a task, with its prompt in their texts; empty if it is no longer asked about."""
        if self._labels:
            label = self._labels.get(_item(task))
            return label.questions if label else ()
        text, _ = self.prompts[task.prompt]
        return tuple(question.about(text) for question in self.form.questions)

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
        task = VoteTask(
            secrets.token_urlsafe(16), place, part, prompt, sides[0].model, right, seeds,
            pictures[0], pictures[1] if right else (), expected, why,
        )  # fmt: skip
        asked, usual = (
            {part.name: part.text for question in questions for part in question.stored}
            for questions in (self.questions_of(task), self.form.questions)
        )
        label = self._labels.get(_item(task))
        probability = None if label is None else label.probability
        return replace(task, asked=asked if asked != usual else None, probability=probability)

    def _can_show(self, task: VoteTask) -> bool:
        """Return whether a task is asked about and its images can be shown; encode them for sending."""
        if task.prompt not in self.prompts or not self.questions_of(task):
            return False
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
