"""Tasks with a known answer, for training annotators and for checking them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Protocol

from t2i_core.api.errors import BadOption
from t2i_core.io.answers import LEFT, PREFERENCE
from t2i_core.io.rater_rules import SEVERAL
from t2i_core.io.table import TableRow, read_table

from .agenda import Agenda, VoteItem
from .drawings import ARTIST, choose_drawing
from .forms import StudyForm
from .questions import StudyQuestion, check_answers

CONSIDERED = 50
"""Number of other prompts among which the one with the fewest common words is chosen."""

PARTS = ("training", "control")


@dataclass(frozen=True)
class ModelImages:
    """One model's images of one prompt."""

    model: str
    prompt: str
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class KnownTask:
    """A task with its right answers.

    Attributes:
        prompt: Id of the prompt.
        left: Images on the left.
        right: Images on the right; None if one model's images are shown alone.
        expected: The right answers, by question.
        why: Explanation, shown after training tasks.
    """

    prompt: str
    left: ModelImages
    right: ModelImages | None
    expected: dict[str, str]
    why: str = ""

    def turned(self) -> KnownTask:
        """Return the task with left and right exchanged."""
        if self.right is None:
            return self
        turned = {"left": "right", "right": "left"}
        expected = {name: turned.get(value, value) for name, value in self.expected.items()}
        return KnownTask(self.prompt, self.right, self.left, expected, self.why)


class KnownTasks(Protocol):
    """Source of tasks with a known answer."""

    def draw(self, part: str, number: int, random: Random) -> KnownTask:
        """Return the next task for an annotator who has already had `number` tasks of this part."""


class Mismatches:
    """Tasks with the images of another, dissimilar prompt: beside those of the prompt, or alone.

    If images are shown alone and the form has right answers for images that show their prompt, one task of each
    two shows a drawing of its prompt, so that whoever always gives one answer is wrong half the time.
    """

    def __init__(self, agenda: Agenda, prompts: Mapping[str, tuple[str, str]], form: StudyForm) -> None:
        self._seeds, self._form = agenda.seeds, form
        self._words = {id: set(re.findall(r"\w+", text.lower())) for id, (text, _) in prompts.items()}
        self._models = [m for m in agenda.models if len({p for p in agenda.seeds[m] if self._of(m, p)}) > 1]
        if not self._models:
            raise BadOption(
                "tasks with a known answer need images of two prompts; name such a run, or give a file of tasks "
                "with --known FILE"
            )

    def _of(self, model: str, prompt: str) -> tuple[int, ...]:
        seeds, grid = self._seeds[model][prompt], self._form.grid
        return tuple(seeds[:grid]) if len(seeds) >= grid else ()

    def draw(self, part: str, number: int, random: Random) -> KnownTask:
        """Return a task about a random model and prompt, or about a drawing."""
        if uses_drawings(self._form) and (number + Random(f"{part} {number // 2}").randrange(2)) % 2:
            name = choose_drawing(random)
            expected = {each.name: SEVERAL.join(each.match) for each in self._form.questions if each.match}
            drawn = ModelImages(ARTIST, name, tuple(range(self._form.grid)))
            return KnownTask(name, drawn, None, expected, "What you saw is a drawing of just that.")
        model = random.choice(self._models)
        prompts = [prompt for prompt in self._seeds[model] if self._of(model, prompt)]
        prompt = random.choice(prompts)
        others = random.sample(prompts, min(len(prompts), CONSIDERED))
        other = min((p for p in others if p != prompt), key=lambda p: self._likeness(prompt, p), default=None)
        if other is None:
            other = next(p for p in prompts if p != prompt)
        own, wrong = (ModelImages(model, p, self._of(model, p)) for p in (prompt, other))
        if self._form.sides == 2:
            return KnownTask(prompt, own, wrong, {PREFERENCE: LEFT}, "The other side was made for another prompt.")
        expected = {each.name: SEVERAL.join(each.mismatch) for each in self._form.questions if each.mismatch}
        return KnownTask(prompt, wrong, None, expected, "What you saw was made for another prompt.")

    def _likeness(self, one: str, other: str) -> float:
        a, b = self._words[one], self._words[other]
        return len(a & b) / max(len(a | b), 1)


def uses_drawings(form: StudyForm) -> bool:
    """Return whether known answers about a form need drawings that show their prompt."""
    return form.sides == 1 and form.controls == "mismatch" and any(each.match for each in form.questions)


class Repetitions:
    """Tasks that compare a grid of different images with a grid that repeats one of them."""

    def __init__(self, agenda: Agenda, grid: int) -> None:
        self._grid = grid
        self._places = [
            (model, prompt, tuple(seeds))
            for model in agenda.models
            for prompt, seeds in agenda.seeds[model].items()
            if len(seeds) >= grid
        ]

    def draw(self, part: str, number: int, random: Random) -> KnownTask:
        """Return a task about a random model and prompt."""
        model, prompt, seeds = random.choice(self._places)
        varied = ModelImages(model, prompt, seeds[: self._grid])
        repeated = ModelImages(model, prompt, (random.choice(varied.seeds),) * self._grid)
        return KnownTask(prompt, varied, repeated, {PREFERENCE: LEFT}, "The other side repeats one image.")


class FromFile:
    """Tasks with known answers from a CSV file.

    Its columns are part (training or control), prompt, left and right (two models) or model, the right answers (a
    column for each question; several that are right are joined by `|`), and optionally seed and why.

    Raises:
        BadOption: If the file cannot be read or a line is not valid.
    """

    def __init__(self, path: Path, agenda: Agenda, questions: Sequence[StudyQuestion], pairs: bool) -> None:
        self._tasks: dict[str, list[KnownTask]] = {part: [] for part in PARTS}
        sides = ("left", "right") if pairs else ("model",)
        questions = [part for question in questions for part in question.stored]
        columns = ("part", "prompt", *sides, questions[0].name)
        for row in read_table(path, BadOption, columns, escaped=True):
            part = row.cells.get("part")
            if part not in PARTS:
                raise BadOption(f"{path}, line {row.line}: 'part' must be training or control (got {part!r})")
            try:
                self._tasks[part].append(_read(row, agenda, questions, sides))
            except ValueError as error:
                raise BadOption(f"{path}, line {row.line}: {error}") from error
        self._path = path

    def require(self, parts: Sequence[str]) -> None:
        """Check that there are tasks of these parts.

        Raises:
            BadOption: If a part has no tasks.
        """
        if missing := next((part for part in parts if not self._tasks[part]), None):
            raise BadOption(f"{self._path}: no tasks of the part {missing}; add lines with part {missing}")

    def draw(self, part: str, number: int, random: Random) -> KnownTask:
        """Return the tasks in the order of the file, and start again at its end."""
        return self._tasks[part][number % len(self._tasks[part])]


def _read(row: TableRow, agenda: Agenda, questions: Sequence[StudyQuestion], sides: Sequence[str]) -> KnownTask:
    prompt, models = row.cells.get("prompt", ""), [row.cells.get(side, "") for side in sides]
    if unknown := next((model for model in models if model not in agenda.seeds), None):
        raise ValueError(f"no model {unknown!r}; the runs have {', '.join(agenda.seeds)}")
    if models[0] == models[-1] and len(models) > 1:
        raise ValueError(f"'left' and 'right' must be two models (got {models[0]!r} twice)")
    items = list(_items_of_seed(agenda.items(tuple(models), prompt), row.cells.get("seed")))
    if not items:
        raise ValueError(f"{' and '.join(models)} have no images of the prompt {prompt!r} with this seed")
    left, *right = (ModelImages(model, prompt, items[0].seeds) for model in models)
    expected = _read_expected(questions, row.cells)
    return KnownTask(prompt, left, right[0] if right else None, expected, row.cells.get("why", ""))


def _read_expected(questions: Sequence[StudyQuestion], cells: Mapping[str, str]) -> dict[str, str]:
    """Return the right answers to the questions that apply.

    Raises:
        ValueError: If such a question has no right answer, or one that is not among its choices.
    """
    expected: dict[str, str] = {}
    for question in questions:
        if question.applies(expected):
            values = [value.strip() for value in cells.get(question.name, "").split(SEVERAL.strip())]
            for value in values:
                check_answers([replace(question, only_if=None)], {question.name: value})
            expected[question.name] = SEVERAL.join(values)
    return expected


def _items_of_seed(items: Sequence[VoteItem], seed: str | None) -> Iterator[VoteItem]:
    for item in items:
        if item.seeds and (seed is None or str(item.seeds[0]) == seed):
            yield item
