"""What the truth kept with an image says of the things in it, and of how they stand to each other."""

from __future__ import annotations

from t2i_core.api import Instance


def leaf_of(instance: Instance) -> str:
    """The lowest synset of a drawn thing."""
    leaf: str = instance.attributes["synset"]
    return leaf


def relation_of(subject: Instance, object_: Instance) -> str:
    """How one thing stands to another, by the centres of their boxes (PaintSkills' rule: ties are vertical)."""
    (x, y), (x_other, y_other) = _centre(subject), _centre(object_)
    if abs(x - x_other) > abs(y - y_other):
        return "left" if x < x_other else "right"
    return "above" if y < y_other else "below"


def _centre(instance: Instance) -> tuple[float, float]:
    x0, y0, x1, y1 = instance.box
    return (x0 + x1) / 2, (y0 + y1) / 2
