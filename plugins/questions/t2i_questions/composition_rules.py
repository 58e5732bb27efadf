"""T2I-CompBench's rules: products of answers, positions of boxes, counts of detections, and means of three scores.

References:
    Huang et al.: T2I-CompBench. NeurIPS 2023; T2I-CompBench++. TPAMI 2025. Karine-Huang/T2I-CompBench:
    BLIPvqa_eval/BLIP_vqa.py, UniDet_eval/2D_spatial_eval.py, UniDet_eval/numeracy_eval.py,
    3_in_1_eval/3_in_1.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

Box = Sequence[float]
"""x0, y0, x1, y1 in pixels, y growing downward."""

DECIMALS = 4
"""Number of decimals to which the original rounds probabilities and their product."""

NEAR = ("on side of", "next to", "near")
RELATIONS = (*NEAR, "on the left of", "on the right of", "on the bottom of", "on the top of", "on top of")
"""Relations of the prompts, in the order in which the original looks for them."""

NEAR_PIXELS = 150.0
MOST_OVERLAP = 0.1
LEAST_SCORE = 0.5
SAME_OBJECT = 0.9


def multiply_answers(probabilities: Sequence[float]) -> float:
    """Return the product of the probabilities of yes, each and the product rounded to four decimals."""
    return round(prod(round(each, DECIMALS) for each in probabilities), DECIMALS)


def find_relation(text: str) -> str | None:
    """Return the first of the relations that the text contains; None if it has none."""
    return next((relation for relation in RELATIONS if relation in text), None)


def score_position(relation: str, first: Box, second: Box, near: float = NEAR_PIXELS) -> float:
    """Return how well two boxes are in a relation, from 0 to 1.

    Args:
        relation: One of `RELATIONS`; `on top of` is in no rule of the original, so it always gives 0.
        first: The box of the first object.
        second: The box of the second object.
        near: Distance along one axis, in pixels, below which objects are near each other.
    """
    dx = (second[0] + second[2]) / 2 - (first[0] + first[2]) / 2
    dy = (second[1] + second[3]) / 2 - (first[1] + first[3]) / 2
    if relation in NEAR:
        return 1.0 if abs(dx) < near or abs(dy) < near else near / max(abs(dx), abs(dy))
    holds = {
        "on the left of": dx > 0 and abs(dx) > abs(dy),
        "on the right of": dx < 0 and abs(dx) > abs(dy),
        "on the top of": dy > 0 and abs(dy) > abs(dx),
        "on the bottom of": dy < 0 and abs(dy) > abs(dx),
    }
    if not holds.get(relation, False):
        return 0.0
    overlap = find_iou(first, second)
    return 1.0 if overlap < MOST_OVERLAP else MOST_OVERLAP / overlap


def score_spatial(first: float | None, second: float | None, position: float) -> float:
    """Return the score of an image: confidences of both detections and their position; below 0.5 it is 0.

    Args:
        first: Confidence of the first object, in [0, 1]; None if it was not found.
        second: Confidence of the second object.
        position: `score_position`; without effect unless both were found.
    """
    found = [score for score in (first, second) if score is not None]
    score = sum(found) / 4 + (position / 2 if len(found) == 2 else 0)
    return score if score >= LEAST_SCORE else 0.0


def score_numeracy(asked: Sequence[tuple[str, int]], counts: Mapping[str, int]) -> float:
    """Return the score of counts: each class has the weight 1/n, half for being there, half for the right number.

    Args:
        asked: Classes with the requested numbers.
        counts: The number of detections of each class.
    """
    total = sum(
        (0.5 if counts.get(name, 0) else 0.0) + (0.5 if counts.get(name, 0) == number else 0.0)
        for name, number in asked
    )
    return total / len(asked)


def combine_scores(attribute: float, spatial: float, action: float, listed_as: str) -> float:
    """Return the score of a complex prompt.

    Args:
        attribute: Product of the answers about its noun phrases.
        spatial: Score of its objects' positions.
        action: Similarity of image and text.
        listed_as: `spatial` or `action`, if the published lists of complex prompts have it there; else empty.
    """
    if listed_as == "spatial":
        return (attribute + spatial) / 2
    if listed_as == "action":
        return (attribute + action) / 2
    return (attribute + spatial + action) / 3


def find_distinct(boxes: Sequence[Box]) -> list[int]:
    """Return the boxes of one class, as indices, without those that show an object of an earlier box again.

    Two boxes show the same object if their IoU is above 0.9 or one covers more than 0.9 of the other.
    """
    kept: list[int] = []
    for number, box in enumerate(boxes):
        if not any(_show_the_same(box, boxes[other]) for other in kept):
            kept.append(number)
    return kept


def _show_the_same(one: Box, other: Box) -> bool:
    shared = _intersect(one, other)
    smaller = min(_area(one), _area(other))
    return find_iou(one, other) > SAME_OBJECT or (smaller > 0 and shared / smaller > SAME_OBJECT)


def find_iou(one: Box, other: Box) -> float:
    """Return the intersection of two boxes over their union; 0 if both are empty."""
    shared = _intersect(one, other)
    union = _area(one) + _area(other) - shared
    return shared / union if union > 0 else 0.0


def _intersect(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _area(box: Box) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
