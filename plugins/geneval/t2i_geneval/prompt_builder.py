"""GenEval's prompts, which follow from one seed.

References:
    djghosh13/geneval: prompts/create_prompts.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from t2i_torch_support.coco_classes import CLASSES
from t2i_torch_support.geneval_records import COUNTING, OWN_NAMES, PREDICATES

from .options import COLOURS
from .tasks import COLOR_ATTR, COLORS, POSITION, SINGLE, TWO

Record = dict[str, Any]
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_POSITIONS = tuple(PREDICATES)


@dataclass(frozen=True)
class PromptBuilder:
    """Builds prompts of six tasks from a seed.

    Attributes:
        classes: Names of the classes. The first is that of people, which get no colour.
        colours: Names of the colours.
        samples: Number of prompts drawn for each task but the first, before duplicates are dropped.
        plurals: Plurals of classes that GenEval's rule (`es` after s, otherwise `s`) does not give.
        seed: The seed of all draws.
    """

    classes: tuple[str, ...]
    colours: tuple[str, ...]
    samples: int = 100
    plurals: Mapping[str, str] = field(default_factory=dict)
    seed: int = 43

    def build(self) -> list[Record]:
        """Return the records of all prompts, task after task, without duplicates."""
        rng = np.random.default_rng(self.seed)
        every = len(self.classes)
        tasks: list[list[Record]] = [[self._single(int(a)) for a in rng.choice(every, every, replace=False)]]
        draws: tuple[Callable[[np.random.Generator], Record], ...] = (
            self._draw_two,
            self._draw_counting,
            self._draw_colors,
            self._draw_position,
            self._draw_color_attr,
        )
        tasks += [[draw(rng) for _ in range(self.samples)] for draw in draws]
        return [record for task in tasks for record in _drop_duplicates(task)]

    def _single(self, a: int) -> Record:
        return _record(SINGLE, [self._clause(a)], f"a photo of {self._with_article(a)}")

    def _draw_two(self, rng: np.random.Generator) -> Record:
        a, b = map(int, rng.choice(len(self.classes), 2, replace=False))
        text = f"a photo of {self._with_article(a)} and {self._with_article(b)}"
        return _record(TWO, [self._clause(a), self._clause(b)], text)

    def _draw_counting(self, rng: np.random.Generator) -> Record:
        a = int(rng.choice(len(self.classes)))
        count = int(rng.integers(2, 4, endpoint=True))
        text = f"a photo of {_NUMBERS[count]} {self.make_plural(self.classes[a])}"
        return _record(COUNTING, [self._clause(a, count)], text, [self._clause(a, count + 1)])

    def _draw_colors(self, rng: np.random.Generator) -> Record:
        a = 1 + int(rng.choice(len(self.classes) - 1))
        colour = self.colours[int(rng.choice(len(self.colours)))]
        text = f"a photo of {add_article(colour)} {self.classes[a]}"
        return _record(COLORS, [self._clause(a, color=colour)], text)

    def _draw_position(self, rng: np.random.Generator) -> Record:
        a, b = map(int, rng.choice(len(self.classes), 2, replace=False))
        position = _POSITIONS[int(rng.choice(len(_POSITIONS)))]
        text = f"a photo of {self._with_article(a)} {position} {self._with_article(b)}"
        return _record(POSITION, [self._clause(b), self._clause(a, position=[position, 0])], text)

    def _draw_color_attr(self, rng: np.random.Generator) -> Record:
        a, b = (1 + int(each) for each in rng.choice(len(self.classes) - 1, 2, replace=False))
        first, second = (self.colours[int(each)] for each in rng.choice(len(self.colours), 2, replace=False))
        things = [f"{add_article(c)} {self.classes[n]}" for c, n in ((first, a), (second, b))]
        clauses = [self._clause(a, color=first), self._clause(b, color=second)]
        return _record(COLOR_ATTR, clauses, f"a photo of {' and '.join(things)}")

    def _clause(self, number: int, count: int = 1, **more: Any) -> Record:
        return {"class": self.classes[number], "count": count, **more}

    def _with_article(self, number: int) -> str:
        return add_article(self.classes[number])

    def make_plural(self, name: str) -> str:
        """Return the plural of a class."""
        return self.plurals.get(name) or f"{name}{'es' if name.endswith('s') else 's'}"


def add_article(words: str) -> str:
    """Return words after their indefinite article, by the first letter."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _record(tag: str, include: list[Record], prompt: str, exclude: list[Record] | None = None) -> Record:
    return {"tag": tag, "include": include, **({"exclude": exclude} if exclude else {}), "prompt": prompt}


def _drop_duplicates(records: list[Record]) -> Iterator[Record]:
    """Yield each record once, where it first appears."""
    seen: set[str] = set()
    for record in records:
        if (text := json.dumps(record)) not in seen:
            seen.add(text)
            yield record


COCO = PromptBuilder(tuple(OWN_NAMES.get(name, name) for name in CLASSES), COLOURS)
"""Builds GenEval's 553 prompts."""
