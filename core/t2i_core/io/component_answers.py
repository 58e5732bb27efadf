"""Component answers: what people say an image shows, each part by the name of its question.

The page's form `components` asks for the object, number and colour of one kind of object, or for two different
objects and where the second is. Metrics declare by `VisualQuestion.meant_by` which of these answers they take.
"""

from __future__ import annotations

OBJECT, NUMBER, COLOUR = "object", "number", "colour"
"""Questions about one kind of object."""

OBJECT_A, OBJECT_B, RELATION = "object A", "object B", "relation"
"""Questions about two objects: each of them, and where object B is (`left`: to the left of object A)."""

COMPONENTS = (OBJECT, NUMBER, COLOUR, OBJECT_A, OBJECT_B, RELATION)
"""All questions."""

Combination = dict[str, str]
"""Answers by question that mean something together."""

_TURNED = {"left": "right", "right": "left", "above": "below", "below": "above"}


def mean_object(name: str, colour: str | None = None) -> list[Combination]:
    """Return the answers that mean: the image shows this object, in this colour if one is given."""
    if colour is not None:
        return [{OBJECT: name, COLOUR: colour}]
    return [{question: name} for question in (OBJECT, OBJECT_A, OBJECT_B)]


def mean_number(name: str, number: int) -> list[Combination]:
    """Return the answers that mean: the image shows exactly this number of these objects."""
    return [{OBJECT: name, NUMBER: str(number)}]


def mean_both(a: str, b: str) -> list[Combination]:
    """Return the answers that mean: the image shows both objects, whichever a person calls object A."""
    return [{OBJECT_A: a, OBJECT_B: b}, {OBJECT_A: b, OBJECT_B: a}]


def mean_relation(a: str, b: str, relation: str) -> list[Combination]:
    """Return the answers that mean: the image shows b in this relation to a, whichever a person calls object A."""
    return [
        {OBJECT_A: a, OBJECT_B: b, RELATION: relation},
        {OBJECT_A: b, OBJECT_B: a, RELATION: _TURNED[relation]},
    ]
