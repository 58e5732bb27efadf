"""PaintSkills' decisions: pure functions of what a judge detects in one image.

probs is float32 (n, classes): for each detection the probability of each class, background dropped. A detection's
class is its most probable one (of equal ones the first; none where all are 0), its confidence that probability. Of
detections with equal confidence the one that the judge names first is the more confident. Centres are (n, 2), y
growing downward.

Source: DALL-Eval, first version, section 4.1, and evaluate_skill of its reference code (commit 6d07019).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Probs = NDArray[np.float32]


def most_confident(probs: Probs, number: int) -> NDArray[np.intp]:
    """The most confident detections, the most confident first; fewer where there are not so many."""
    return np.argsort(-probs.max(axis=1, initial=0), kind="stable")[:number]


def classes(probs: Probs) -> NDArray[np.intp]:
    """The class of each detection: its most probable one; -1 of a detection that has no probability at all."""
    return np.where(probs.max(axis=1, initial=0) > 0, probs.argmax(axis=1), -1)


def is_object(probs: Probs, target: int, confidence: float) -> bool:
    """Whether the most confident detection is of the target class, with more than this probability.

    confidence: .8 in the paper's text; the reference code does not check it, which is 0
    """
    if not len(probs):
        return False
    (best,) = most_confident(probs, 1)
    return bool(classes(probs)[best] == target and probs[best, target] > np.float32(confidence))


def has_colour(colours: NDArray[np.float32], probs: Probs, wanted: int) -> bool:
    """Whether the most confident detection, whatever it is, has the wanted colour as its most probable one.

    colours: (n, colours), probabilities; a row of zeros has none
    """
    if not len(probs):
        return False
    (best,) = most_confident(probs, 1)
    return bool(colours[best].argmax() == wanted and colours[best, wanted] > 0)


def confident(probs: Probs, threshold: float) -> int:
    """How many detections are confident, of whatever class."""
    return int((probs.max(axis=1, initial=0) > np.float32(threshold)).sum())


def is_count(
    probs: Probs,
    target: int,
    wanted: int,
    rule: Literal["reference", "paper"] = "reference",
    threshold: float = 0.7,
    clamp: bool = True,
) -> bool:
    """Whether there are exactly so many of the target class.

    reference: where n detections are confident (one, where none is and `clamp` says so), exactly `wanted` of the n
    with the highest probability of the target class are of it
    paper: the `wanted` most confident detections are all of it; blind to objects too many
    """
    if rule == "paper":
        best = most_confident(probs, wanted)
        return len(best) == wanted and bool((classes(probs[best]) == target).all())
    n = max(confident(probs, threshold), int(clamp))
    likest = np.argsort(-probs[:, target], kind="stable")[:n]
    return int((classes(probs[likest]) == target).sum()) == wanted


def relation_between(centre: ArrayLike, other: ArrayLike) -> str:
    """What something at `centre` is of something at `other`: left, right, above or below.

    Beside where it is farther off across than along, else above or below. Of two at the same place it is below.
    """
    (x, y), (x_other, y_other) = np.asarray(centre, np.float64), np.asarray(other, np.float64)
    if abs(x - x_other) > abs(y - y_other):
        return "left" if x < x_other else "right"
    return "above" if y < y_other else "below"


BESIDE = ("left", "right")


def are_both(probs: Probs, a: int, b: int) -> bool:
    """Whether the two most confident detections are one of class a and one of class b."""
    return sorted(classes(probs[most_confident(probs, 2)]).tolist()) == sorted((a, b))


def is_relation(probs: Probs, centres: NDArray[np.floating], a: int, b: int, wanted: str) -> bool:
    """Whether the two most confident detections are of a and b, and b is so of a.

    Of two of one class it cannot be told which is which: that they lie along the right axis is enough. Where both
    have the same centre, b is below where a is the more confident, else above.
    """
    if not are_both(probs, a, b):
        return False
    first, second = most_confident(probs, 2)
    if a == b:
        found = relation_between(centres[first], centres[second])
        return (found in BESIDE) == (wanted in BESIDE)
    if classes(probs)[first] == a:
        return relation_between(centres[second], centres[first]) == wanted
    return _OPPOSITE[relation_between(centres[second], centres[first])] == wanted


_OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
