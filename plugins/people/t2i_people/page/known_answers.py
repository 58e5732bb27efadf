"""Tasks with a known answer, for training annotators and for checking them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Protocol

from t2i_core.api.errors import BadOption
from t2i_core.io.answers import PREFERENCE
from t2i_core.io.table import TableRow, read_table

from .agenda import Agenda, VoteItem
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
    """Tasks that compare images of the prompt with the same model's images of another, dissimilar prompt."""

    def __init__(self, agenda: Agenda, prompts: Mapping[str, tuple[str, str]], grid: int) -> None:
        self._seeds, self._grid = agenda.seeds, grid
        self._words = {id: set(re.findall(r"\w+", text.lower())) for id, (text, _) in prompts.items()}
        self._models = [m for m in agenda.models if len({p for p in agenda.seeds[m] if self._of(m, p)}) > 1]
        if not self._models:
            raise BadOption(
                "tasks with a known answer need images of two prompts; name such a run, or give a file of tasks "
                "with --known FILE"
            )

    def _of(self, model: str, prompt: str) -> tuple[int, ...]:
        seeds = self._seeds[model][prompt]
        return tuple(seeds[: self._grid]) if len(seeds) >= self._grid else ()

    def draw(self, part: str, number: int, random: Random) -> KnownTask:
        """Return a task about a random model and prompt."""
        model = random.choice(self._models)
        prompts = [prompt for prompt in self._seeds[model] if self._of(model, prompt)]
        prompt = random.choice(prompts)
        others = random.sample(prompts, min(len(prompts), CONSIDERED))
        other = min((p for p in others if p != prompt), key=lambda p: self._likeness(prompt, p), default=None)
        if other is None:
            other = next(p for p in prompts if p != prompt)
        left, right = (ModelImages(model, p, self._of(model, p)) for p in (prompt, other))
        return KnownTask(prompt, left, right, {PREFERENCE: "left"}, "The other side was made for another prompt.")

    def _likeness(self, one: str, other: str) -> float:
        a, b = self._words[one], self._words[other]
        return len(a & b) / max(len(a | b), 1)


class FromFile:
    """Tasks with known answers from a CSV file.

    Its columns are part (training or control), prompt, left and right (two models) or model, the right answers
    (preference, or a column for each question about one model's images), and optionally seed and why.

    Raises:
        BadOption: If the file cannot be read or a line is not valid.
    """

    def __init__(self, path: Path, agenda: Agenda, questions: Sequence[StudyQuestion], pairs: bool) -> None:
        self._tasks: dict[str, list[KnownTask]] = {part: [] for part in PARTS}
        sides = ("left", "right") if pairs else ("model",)
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
    expected = check_answers(questions, row.cells)
    return KnownTask(prompt, left, right[0] if right else None, expected, row.cells.get("why", ""))


def _items_of_seed(items: Sequence[VoteItem], seed: str | None) -> Iterator[VoteItem]:
    for item in items:
        if item.seeds and (seed is None or str(item.seeds[0]) == seed):
            yield item
