"""Questions for `selfeval` about rendered pictures: captions that differ in one fact, with a scene for each.

A question of K captions has K scenes, and each caption describes one of them. So a model that reads the captions
without the picture is right exactly once in K. Captions have the grammar of training captions, in one style and
with the plainest words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from t2i_core.api import ObjectClass, Relation, Scene, SceneObject

from t2i_miniworld.layout import MOST, PREDICATES
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.statements import reading_of
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LABELS
from t2i_miniworld.wording import STYLES, say

#: Key of the random streams of questions and their layouts; training never uses it.
STREAM = "selfeval-mini"


@dataclass(frozen=True)
class CaptionQuestion:
    """A question: captions, in the order of the scenes that they describe.

    Attributes:
        tag: The fact that differs, if the questions of a task ask about several.
        orders: Order in which the captions are shown, for each scene. The right caption is at each place once.
    """

    name: str
    seed: int
    captions: tuple[str, ...]
    scenes: tuple[Scene, ...]
    tag: str
    orders: tuple[tuple[int, ...], ...]

    def key(self, number: int) -> tuple[str, str, int]:
        """Return the key of the random streams of one of its pictures."""
        return STREAM, self.name, number


def ask(task: str, seed: int, number: int) -> CaptionQuestion:
    """Return one question of a task (a key of `TASKS`). It depends only on task, seed and number."""
    rng = stream(STREAM, task, seed, number)
    tag, scenes = TASKS[task][1](rng)
    weights = np.array(list(STYLES.values()))
    style = list(STYLES)[int(rng.choice(len(STYLES), p=weights / weights.sum()))]
    captions = tuple(say(reading_of(scene), style) for scene in scenes)
    orders = _orders(len(scenes), rng)
    return CaptionQuestion(f"{task}-{seed}-{number:03}", seed, captions, tuple(scenes), tag, orders)


def _orders(count: int, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    orders = []
    for own, place in enumerate(rng.permutation(count).tolist()):
        others = rng.permutation([caption for caption in range(count) if caption != own]).tolist()
        orders.append((*others[:place], own, *others[place:]))
    return tuple(orders)


Drawn = tuple[str, list[Scene]]


def _binding(rng: np.random.Generator) -> Drawn:
    """Draw two things whose paints are exchanged."""
    one, other = _classes(2, rng)
    paint, second = _paints(2, rng)
    return "", [_scene((one, paint), (other, second)), _scene((one, second), (other, paint))]


def _colour(rng: np.random.Generator) -> Drawn:
    """Draw one thing in one of four paints."""
    (one,) = _classes(1, rng)
    return "", [_scene((one, paint)) for paint in _paints(4, rng)]


def _count(rng: np.random.Generator) -> Drawn:
    """Draw one to four equal things."""
    (one,) = _classes(1, rng)
    return "", [Scene((SceneObject(one, count=count),)) for count in range(1, MOST + 1)]


def _shape(rng: np.random.Generator) -> Drawn:
    """Draw one of three things, painted in half of the cases."""
    paint = _paints(1, rng)[0] if rng.random() < 0.5 else None
    return "", [_scene((one, paint)) for one in _classes(3, rng)]


def _spatial(rng: np.random.Generator) -> Drawn:
    """Draw two things in one of four relations."""
    one, other = _classes(2, rng)
    return "", [_related(one, predicate, other) for predicate in PREDICATES]


def _corruption(rng: np.random.Generator) -> Drawn:
    """Draw three painted things, with captions in five of the six orders of the paints."""
    classes, paints = _classes(3, rng), _paints(3, rng)
    ways = [list(way) for way in permutations(paints)]
    chosen = rng.permutation(len(ways))[:5].tolist()
    return "", [_scene(*zip(classes, ways[way], strict=True)) for way in chosen]


def _exchanged(rng: np.random.Generator) -> Drawn:
    """Draw two things that exchange places, paints or numbers, all equally likely."""
    one, other = _classes(2, rng)
    tag = ("relation", "colour", "number")[int(rng.integers(3))]
    if tag == "relation":
        predicate = str(rng.choice(PREDICATES))
        return tag, [_related(one, predicate, other), _related(other, predicate, one)]
    if tag == "colour":
        return tag, _binding(rng)[1]
    several = int(rng.integers(2, MOST))
    return tag, [
        Scene((SceneObject(one, count=several), SceneObject(other))),
        Scene((SceneObject(one), SceneObject(other, count=several))),
    ]


WINOGROUND = "winoground"
#: Number of captions of a question, and the function that draws one, by task. Winoground pairs are questions of
#: two.
TASKS: dict[str, tuple[int, Callable[[np.random.Generator], Drawn]]] = {
    "attribute-binding": (2, _binding),
    "colour": (4, _colour),
    "count": (4, _count),
    "shape": (3, _shape),
    "spatial": (4, _spatial),
    "text-corruption": (5, _corruption),
    WINOGROUND: (2, _exchanged),
}


def _scene(*things: tuple[ObjectClass, str | None]) -> Scene:
    return Scene(tuple(SceneObject(cls, paint) for cls, paint in things))


def _related(subject: ObjectClass, predicate: str, object_: ObjectClass) -> Scene:
    return Scene((SceneObject(subject), SceneObject(object_)), (Relation(0, predicate, 1),))


def _classes(count: int, rng: np.random.Generator) -> list[ObjectClass]:
    return [LABELS[number] for number in rng.choice(len(LABELS), size=count, replace=False)]


def _paints(count: int, rng: np.random.Generator) -> list[str]:
    return [str(paint) for paint in rng.choice(list(PAINTS), size=count, replace=False)]
