"""Queries on the ground truth of an image: the leaf of a thing, and the relation of two things."""

from __future__ import annotations

from t2i_core.api import Instance


def leaf_of(instance: Instance) -> str:
    """Return the lowest synset of a drawn thing."""
    leaf: str = instance.attributes["synset"]
    return leaf


def relation_of(subject: Instance, object_: Instance) -> str:
    """Return the relation of one thing to another, by the centres of their boxes.

    As in PaintSkills, ties between the axes count as vertical.
    """
    (x, y), (x_other, y_other) = _centre(subject), _centre(object_)
    if abs(x - x_other) > abs(y - y_other):
        return "left" if x < x_other else "right"
    return "above" if y < y_other else "below"


def _centre(instance: Instance) -> tuple[float, float]:
    x0, y0, x1, y1 = instance.box
    return (x0 + x1) / 2, (y0 + y1) / 2
