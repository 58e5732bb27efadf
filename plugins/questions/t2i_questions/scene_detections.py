"""Answers of a detector to questions about scenes: does the image show all of a scene?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from t2i_core.api import Detections, Relation, Scene, SceneObject


def answer_by_detections(scene: Scene, seen: Detections, confidence: float) -> str:
    """Return `yes` if the detections show all of a scene and, possibly, more; else `no`.

    Each detection stands for at most one object of the scene. The colour of a detection is its most probable one.
    A relation holds by the centres of the boxes, along the axis on which they are further apart (PaintSkills).

    Args:
        scene: The scene.
        seen: The detections of one image.
        confidence: Lowest confidence of detections that count, in [0, 1].
    """
    counted = [number for number, score in enumerate(seen.scores) if score >= confidence]
    wanted = [number for number, one in enumerate(scene.objects) for _ in range(one.count)]
    return "yes" if _find_match(scene, wanted, seen, counted, {}) else "no"


def _find_match(
    scene: Scene, wanted: Sequence[int], seen: Detections, left: Sequence[int], taken: dict[int, int]
) -> bool:
    """Return whether each wanted object has its own detection, so that all relations hold."""
    if not wanted:
        return all(_holds(relation, seen, taken) for relation in scene.relations)
    first, rest = wanted[0], wanted[1:]
    return any(
        _find_match(scene, rest, seen, [other for other in left if other != number], {**taken, first: number})
        for number in left
        if _fits(scene.objects[first], seen, number)
    )


def _fits(wanted: SceneObject, seen: Detections, number: int) -> bool:
    if not wanted.cls.same_as(seen.label(number)):
        return False
    if wanted.colour is None:
        return True
    return seen.colours is not None and seen.colour_names[int(np.argmax(seen.colours[number]))] == wanted.colour


def _holds(relation: Relation, seen: Detections, taken: dict[int, int]) -> bool:
    (x, y), (x_other, y_other) = (_find_centre(seen, taken[end]) for end in (relation.subject, relation.object))
    if abs(x - x_other) > abs(y - y_other):
        return relation.predicate == ("left" if x < x_other else "right")
    return relation.predicate == ("above" if y < y_other else "below")


def _find_centre(seen: Detections, number: int) -> tuple[float, float]:
    x0, y0, x1, y1 = map(float, seen.boxes[number])
    return (x0 + x1) / 2, (y0 + y1) / 2
