"""Answers of a detector to questions about scenes: does the image show all of a scene?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from t2i_core.api import Detections, Relation, Scene, SceneObject


def answer_by_detections(scene: Scene, seen: Detections, confidence: float) -> str:
    """Return `yes` if the detections show all of a scene and, possibly, more; else `no`.

    Each detection stands for at most one object of the scene. The colour of a detection is its most probable one.
    A relation holds by the centres of the boxes, along the axis on which they are further apart (PaintSkills). Of
    several things of one kind (`two dogs`), one must have all relations of the kind.

    Args:
        scene: The scene.
        seen: The detections of one image.
        confidence: Lowest confidence of detections that count, in [0, 1].
    """
    counted = [number for number, score in enumerate(seen.scores) if score >= confidence]
    fits = [[number for number in counted if _fits(one, seen, number)] for one in scene.objects]
    return "yes" if _can_place(scene, seen, fits, {}) else "no"


def _can_place(scene: Scene, seen: Detections, fits: Sequence[Sequence[int]], taken: Mapping[int, int]) -> bool:
    """Return whether each end of a relation, and each other thing, can have its own detection.

    Args:
        scene: The scene.
        seen: The detections.
        fits: The detections that each object of the scene may be.
        taken: The detections of the ends that are placed, by the object's number; their relations hold.
    """
    if not _has_enough(scene, fits, taken):
        return False
    ends = (end for relation in scene.relations for end in (relation.subject, relation.object))
    following = next((end for end in ends if end not in taken), None)
    if following is None:
        return True
    for number in fits[following]:
        placed = {**taken, following: number}
        if (
            number not in taken.values()
            and all(
                _holds(relation, seen, placed)
                for relation in scene.relations
                if following in (relation.subject, relation.object)
                and {relation.subject, relation.object} <= placed.keys()
            )
            and _can_place(scene, seen, fits, placed)
        ):
            return True
    return False


def _has_enough(scene: Scene, fits: Sequence[Sequence[int]], taken: Mapping[int, int]) -> bool:
    """Return whether all things that are not placed can have a detection each (matching by augmenting paths)."""
    if any(len(own) < one.count for one, own in zip(scene.objects, fits, strict=True)):
        return False
    used = set(taken.values())
    owners: dict[int, int] = {}

    def assign(thing: int, tried: set[int]) -> bool:
        for number in fits[thing]:
            if number not in used and number not in tried:
                tried.add(number)
                if number not in owners or assign(owners[number], tried):
                    owners[number] = thing
                    return True
        return False

    left = [
        thing for thing, one in enumerate(scene.objects) for _ in range(one.count - (1 if thing in taken else 0))
    ]
    return all(assign(thing, set()) for thing in left)


def _fits(wanted: SceneObject, seen: Detections, number: int) -> bool:
    if not wanted.cls.same_as(seen.label(number)):
        return False
    if wanted.colour is None:
        return True
    return seen.colours is not None and seen.colour_names[int(np.argmax(seen.colours[number]))] == wanted.colour


def _holds(relation: Relation, seen: Detections, taken: Mapping[int, int]) -> bool:
    (x, y), (x_other, y_other) = (_find_centre(seen, taken[end]) for end in (relation.subject, relation.object))
    if abs(x - x_other) > abs(y - y_other):
        return relation.predicate == ("left" if x < x_other else "right")
    return relation.predicate == ("above" if y < y_other else "below")


def _find_centre(seen: Detections, number: int) -> tuple[float, float]:
    x0, y0, x1, y1 = map(float, seen.boxes[number])
    return (x0 + x1) / 2, (y0 + y1) / 2
