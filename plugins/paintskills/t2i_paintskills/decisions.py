"""PaintSkills' decisions: pure functions of a judge's detections in one image.

`probs` is float32 of shape (n, classes): for each detection the probability of each class, without background. The
class of a detection is its most probable one (the first of equal ones; none if all are 0), and its confidence is
that probability. Of detections with equal confidence, the first one counts as more confident. Centres have shape
(n, 2) with y growing downward.

References:
    DALL-Eval, first version, section 4.1, and evaluate_skill of its reference code (commit 6d07019).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Probs = NDArray[np.float32]


def most_confident(probs: Probs, number: int) -> NDArray[np.intp]:
    """Return the indices of the `number` most confident detections, most confident first; at most n."""
    return np.argsort(-probs.max(axis=1, initial=0), kind="stable")[:number]


def classes(probs: Probs) -> NDArray[np.intp]:
    """Return the most probable class of each detection, shape (n,); -1 if all its probabilities are 0."""
    return np.where(probs.max(axis=1, initial=0) > 0, probs.argmax(axis=1), -1)


def is_object(probs: Probs, target: int, confidence: float) -> bool:
    """Return whether the most confident detection is of the target class.

    Args:
        probs: Probabilities of the detections, shape (n, classes).
        target: Index of the class.
        confidence: The probability must be above this: 0.8 in the paper's text. The reference code does not check
            it, which is 0.
    """
    if not len(probs):
        return False
    (best,) = most_confident(probs, 1)
    return bool(classes(probs)[best] == target and probs[best, target] > np.float32(confidence))


def has_colour(colours: NDArray[np.float32], probs: Probs, wanted: int) -> bool:
    """Return whether the most confident detection, of any class, most probably has the wanted colour.

    Args:
        colours: Probabilities of the colours, shape (n, colours); a row of zeros means no colour.
        probs: Probabilities of the detections, shape (n, classes).
        wanted: Index of the colour.
    """
    if not len(probs):
        return False
    (best,) = most_confident(probs, 1)
    return bool(colours[best].argmax() == wanted and colours[best, wanted] > 0)


def confident(probs: Probs, threshold: float) -> int:
    """Return the number of detections, of any class, with a confidence above the threshold."""
    return int((probs.max(axis=1, initial=0) > np.float32(threshold)).sum())


def is_count(
    probs: Probs,
    target: int,
    wanted: int,
    rule: Literal["reference", "paper"] = "reference",
    threshold: float = 0.7,
    clamp: bool = True,
) -> bool:
    """Return whether the image shows exactly `wanted` objects of the target class.

    Rule `reference`: let n be the number of confident detections. Of the n detections with the highest probability
    of the target class, exactly `wanted` are of that class. Rule `paper`: the `wanted` most confident detections
    are all of that class; surplus objects go unnoticed.

    Args:
        probs: Probabilities of the detections, shape (n, classes).
        target: Index of the class.
        wanted: Number of objects.
        rule: The rule.
        threshold: Confidence above which a detection is confident (rule `reference`).
        clamp: Whether n is at least 1 (rule `reference`).
    """
    return len(list_counted(probs, target, wanted, rule, threshold, clamp)) == wanted


def list_counted(
    probs: Probs, target: int, wanted: int, rule: Literal["reference", "paper"], threshold: float, clamp: bool
) -> NDArray[np.intp]:
    """Return the detections that `is_count` counts as objects of the target class."""
    if rule == "paper":
        candidates = most_confident(probs, wanted)
    else:
        n = max(confident(probs, threshold), int(clamp))
        candidates = np.argsort(-probs[:, target], kind="stable")[:n]
    return candidates[classes(probs[candidates]) == target]


def relation_between(centre: ArrayLike, other: ArrayLike) -> str:
    """Return where an object at `centre` is, relative to one at `other`: left, right, above or below.

    The larger of the two distances decides between the axes. If the horizontal distance is not larger, the result
    is above or below; for two objects at the same place it is below.
    """
    (x, y), (x_other, y_other) = np.asarray(centre, np.float64), np.asarray(other, np.float64)
    if abs(x - x_other) > abs(y - y_other):
        return "left" if x < x_other else "right"
    return "above" if y < y_other else "below"


HORIZONTAL = ("left", "right")


def are_both(probs: Probs, a: int, b: int) -> bool:
    """Return whether the two most confident detections are one of class `a` and one of class `b`."""
    return sorted(classes(probs[most_confident(probs, 2)]).tolist()) == sorted((a, b))


def is_relation(probs: Probs, centres: NDArray[np.floating], a: int, b: int, wanted: str) -> bool:
    """Return whether the two most confident detections are of `a` and `b`, with `b` in the wanted relation to `a`.

    If `a` and `b` are the same class, the two objects only need to lie along the right axis. If both have the same
    centre, `b` is below if `a` is more confident, otherwise above.

    Args:
        probs: Probabilities of the detections, shape (n, classes).
        centres: Centres of the boxes, shape (n, 2).
        a: Index of the first class.
        b: Index of the second class.
        wanted: Relation of `b` to `a`: left, right, above or below.
    """
    if not are_both(probs, a, b):
        return False
    first, second = most_confident(probs, 2)
    if a == b:
        found = relation_between(centres[first], centres[second])
        return (found in HORIZONTAL) == (wanted in HORIZONTAL)
    if classes(probs)[first] == a:
        return relation_between(centres[second], centres[first]) == wanted
    return OPPOSITE[relation_between(centres[second], centres[first])] == wanted


OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}
