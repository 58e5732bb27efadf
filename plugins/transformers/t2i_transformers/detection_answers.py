"""Answers to questions about the objects of an image, from what a detector finds in it.

Each detection is taken to be an object of a class and a colour with the probability q = P(class) P(colour), and
detections to be right or wrong independently of each other:

- an image shows a scene with the probability of the likeliest assignment of different detections to its objects,
  the product of their q. A relation holds by the centres of the boxes, along the axis on which they are further
  apart (PaintSkills), and an assignment in which one does not hold has probability 0;
- there are at least n objects of a kind with the product of the n highest q, and exactly n with that product times
  1 - q of the next detection. Over all n these probabilities have sum 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from t2i_core.api import Detections, QuestionAnswer, Relation, SceneObject, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO

from .scene_questions import Asked, AskedChoice, AskedColour, AskedNumber, AskedScene, normalise_choice


class UnansweredQuestion(ValueError):
    """A question that detections cannot answer; the message says why."""


def answer_by_detections(question: VisualQuestion, asked: Asked, seen: Detections) -> QuestionAnswer:
    """Return the answer to a question about one image.

    Args:
        question: The question.
        asked: What it asks.
        seen: The detections in the image, with `colours`.

    Raises:
        UnansweredQuestion: If the detector does not know a class or colour, or finds nothing that has a colour.
    """
    if isinstance(asked, AskedScene):
        shown = compute_scene_probability(asked, seen)
        return _choose(question.choices, {YES_NO[0]: shown, YES_NO[1]: 1 - shown})
    if isinstance(asked, AskedChoice):
        scenes = [compute_scene_probability(each, seen) for each in asked.scenes]
        return _choose_most_probable(question.choices, [each / max(1.0, sum(scenes)) for each in scenes])
    if isinstance(asked, AskedNumber):
        return _choose(
            question.choices, {str(n): p for n, p in enumerate(compute_number_probabilities(asked, seen))}
        )
    return _choose(question.choices, compute_colour_probabilities(asked, seen))


def compute_scene_probability(asked: AskedScene, seen: Detections) -> float:
    """Return the probability that an image shows all of a scene."""
    fits = np.stack([compute_fits(each, seen) for each in asked.scene.objects])
    return _Assignment(asked, fits, seen).find_best()


def compute_number_probabilities(asked: AskedNumber, seen: Detections) -> list[float]:
    """Return the probability of each number of objects, from 0 to the number of detections."""
    fits = -np.sort(-compute_fits(asked.kind, seen))
    at_least = np.concatenate([[1.0], np.cumprod(fits), [0.0]])
    return [float(each) for each in at_least[:-1] - at_least[1:]]


def compute_colour_probabilities(asked: AskedColour, seen: Detections) -> dict[str, float]:
    """Return the probability of each colour of the likeliest object of a kind."""
    fits = compute_fits(asked.kind, seen)
    if not fits.size or not fits.any() or seen.colours is None:
        raise UnansweredQuestion(f"the detector finds no {asked.kind.cls.name}")
    best = int(fits.argmax())
    return {name: float(fits[best] * p) for name, p in zip(seen.colour_names, seen.colours[best], strict=True)}


def compute_fits(wanted: SceneObject, seen: Detections) -> NDArray[np.float64]:
    """Return the probability that each detection is an object of this class and colour, shape (detections,)."""
    cls = next((number for number, label in enumerate(seen.labels) if wanted.cls.same_as(label)), None)
    if cls is None:
        raise UnansweredQuestion(f"the detector does not know the class {wanted.cls.name!r}")
    if wanted.attributes:
        raise UnansweredQuestion(f"the detector does not know the attribute {min(wanted.attributes)!r}")
    fits = np.where(seen.classes == cls, seen.scores, 0) if seen.class_probs is None else seen.class_probs[:, cls]
    if wanted.colour is not None:
        if wanted.colour not in seen.colour_names or seen.colours is None:
            raise UnansweredQuestion(f"the detector does not know the colour {wanted.colour!r}")
        fits = fits * seen.colours[:, seen.colour_names.index(wanted.colour)]
    return fits.astype(np.float64)


@dataclass
class _Assignment:
    """Search for the likeliest assignment of detections to the objects of a scene.

    The ends of relations are placed one by one, likely detections first; branches below the best are left out.
    The other objects are assigned at once. Of several objects of one kind (`two dogs`), one has all relations.

    Attributes:
        asked: The scene.
        fits: Probability that a detection is an object, shape (objects, detections).
        seen: The detections.
        best: The highest probability so far.
    """

    asked: AskedScene
    fits: NDArray[np.float64]
    seen: Detections
    best: float = 0.0

    def find_best(self) -> float:
        """Return the probability of the likeliest assignment; 0 without one."""
        relations = self.asked.scene.relations
        ends = tuple(dict.fromkeys(end for each in relations for end in (each.subject, each.object)))
        self._place(ends, {}, 1.0)
        return self.best

    def _place(self, ends: Sequence[int], taken: Mapping[int, int], product: float) -> None:
        if product * self._bound(taken) <= self.best:
            return
        if len(taken) == len(ends):
            self.best = max(self.best, product * self._assign_rest(taken))
            return
        end = ends[len(taken)]
        for number in np.argsort(-self.fits[end], kind="stable").tolist():
            placed = {**taken, end: number}
            if number not in taken.values() and all(self._list_held(end, placed)):
                self._place(ends, placed, product * float(self.fits[end, number]))

    def _bound(self, taken: Mapping[int, int]) -> float:
        """Return the highest probability that the objects without a detection can have, each for itself."""
        bound = 1.0
        for number, each in enumerate(self.asked.scene.objects):
            left = each.count - (number in taken)
            if left > self.fits.shape[1]:
                return 0.0
            bound *= float(np.prod(-np.sort(-self.fits[number])[:left]))
        return bound

    def _list_held(self, end: int, placed: Mapping[int, int]) -> Iterator[bool]:
        """Yield whether each relation of an end holds whose other end is placed too."""
        for relation in self.asked.scene.relations:
            if end in (relation.subject, relation.object) and {relation.subject, relation.object} <= placed.keys():
                yield _holds(relation, self.seen, placed)

    def _assign_rest(self, taken: Mapping[int, int]) -> float:
        """Return the probability of the objects outside all relations, and that exact counts are not exceeded."""
        objects = self.asked.scene.objects
        things = [n for n, each in enumerate(objects) for _ in range(each.count - (n in taken))]
        free = [number for number in range(self.fits.shape[1]) if number not in taken.values()]
        if len(things) > len(free):
            return 0.0
        probability, used = 1.0, set(taken.values())
        if things:
            table = self.fits[np.ix_(things, free)]
            rows, columns = linear_sum_assignment(-np.log(np.maximum(table, np.finfo(np.float64).tiny)))
            probability = float(np.prod(table[rows, columns]))
            used |= {free[column] for column in columns}
        more = [number for number in range(self.fits.shape[1]) if number not in used]
        for number in self.asked.exact:
            probability *= 1 - float(self.fits[number, more].max(initial=0))
        return probability


def _holds(relation: Relation, seen: Detections, taken: Mapping[int, int]) -> bool:
    (x, y), (x_other, y_other) = (_find_centre(seen, taken[end]) for end in (relation.subject, relation.object))
    if abs(x - x_other) > abs(y - y_other):
        return relation.predicate == ("left" if x < x_other else "right")
    return relation.predicate == ("above" if y < y_other else "below")


def _find_centre(seen: Detections, number: int) -> tuple[float, float]:
    x0, y0, x1, y1 = map(float, seen.boxes[number])
    return (x0 + x1) / 2, (y0 + y1) / 2


def _choose(choices: Sequence[str], probabilities: Mapping[str, float]) -> QuestionAnswer:
    """Return the likeliest answer, with the probability of each choice; in words if there are no choices."""
    likeliest = max(probabilities, key=lambda each: probabilities[each])
    if not choices:
        return QuestionAnswer(text=likeliest)
    return _choose_most_probable(choices, [probabilities.get(normalise_choice(each), 0.0) for each in choices])


def _choose_most_probable(choices: Sequence[str], probabilities: Sequence[float]) -> QuestionAnswer:
    """Return the choice with the highest probability; none if all are 0."""
    probs = np.clip(probabilities, 0, 1)
    return QuestionAnswer(tuple(choices), int(probs.argmax()) if probs.any() else None, probs)
