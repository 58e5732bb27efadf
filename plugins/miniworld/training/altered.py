"""Captions that are almost true: one aspect of a picture's things is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from captions import statement
from t2i_core.api import Instance, ObjectClass
from t2i_miniworld.laws import ATTRIBUTES, forms_of
from t2i_miniworld.layout import MOST
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import Reading
from t2i_miniworld.statements import holds
from t2i_miniworld.vocabulary import LEAVES, SYNSETS

#: Aspects that may be wrong in a caption, by which evaluations group results.
ASPECTS = ("object", "colour", "count", "relation", "attribute")


def wrong_statement(
    shown: Sequence[Instance], aspect: str, rng: np.random.Generator, tries: int = 8
) -> Reading | None:
    """Return a statement that would be true if one aspect of these things were different; None if not found."""
    for _ in range(tries):
        changed = _CHANGES[aspect](list(shown), rng)
        if changed is not None and not holds(reading := statement(changed, rng), shown):
            return reading
    return None


def _object(shown: list[Instance], rng: np.random.Generator) -> list[Instance] | None:
    """Change the leaf of one thing, and of those equal to it."""
    old = shown[int(rng.integers(len(shown)))]
    leaf = str(rng.choice([leaf for leaf in LEAVES if LEAVES[leaf] != old.cls.name]))
    kind = LEAVES[leaf]
    attributes = {"form": forms_of(leaf)[0], "synset": leaf}
    if kind == "human":
        attributes |= {name: str(rng.choice(values)) for name, values in ATTRIBUTES.items()}
    cls = ObjectClass(kind, SYNSETS[kind])
    return [replace(one, cls=cls, attributes=attributes) if one.cls == old.cls else one for one in shown]


def _colour(shown: list[Instance], rng: np.random.Generator) -> list[Instance] | None:
    """Change the paint of a painted thing, and of those equal to it; or exchange the paints of two things."""
    painted = [one for one in shown if one.colour is not None]
    if not painted:
        return None
    old = painted[int(rng.integers(len(painted)))]
    others = [one for one in painted if one.colour != old.colour]
    if others and rng.random() < 0.5:
        other = others[int(rng.integers(len(others)))].colour
        swap = {old.colour: other, other: old.colour}
    else:
        swap = {old.colour: str(rng.choice([paint for paint in PAINTS if paint != old.colour]))}
    return [_painted(one, swap.get(one.colour, one.colour)) for one in shown]


def _painted(one: Instance, paint: str | None) -> Instance:
    attributes = dict(one.attributes)
    if paint is not None and "coat" in attributes:
        attributes["coat"] = paint
    return replace(one, colour=paint, attributes=attributes)


def _count(shown: list[Instance], rng: np.random.Generator) -> list[Instance] | None:
    """Add a thing equal to one of those shown, or remove one of several equal things."""
    at = int(rng.integers(len(shown)))
    twins = sum(one.cls == shown[at].cls for one in shown)
    if twins > 1 and (len(shown) == MOST or rng.random() < 0.5):
        return shown[:at] + shown[at + 1 :]
    return [*shown, shown[at]] if len(shown) < MOST else None


def _relation(shown: list[Instance], rng: np.random.Generator) -> list[Instance] | None:
    """Exchange the places of two things, or turn their arrangement."""
    if len(shown) != 2:
        return None
    one, other = shown
    if rng.random() < 0.5:
        return [replace(one, box=other.box), replace(other, box=one.box)]
    return [replace(thing, box=_turned(thing.box)) for thing in shown]


def _turned(box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = box
    return y0, x0, y1, x1


def _attribute(shown: list[Instance], rng: np.random.Generator) -> list[Instance] | None:
    """Change a person's coat, hat or hair."""
    people = [at for at, one in enumerate(shown) if one.cls.name == "human" and one.colour is None]
    if not people:
        return None
    at = people[int(rng.integers(len(people)))]
    name = str(rng.choice(list(ATTRIBUTES)))
    value = str(rng.choice([value for value in ATTRIBUTES[name] if value != shown[at].attributes[name]]))
    changed = list(shown)
    changed[at] = replace(shown[at], attributes={**shown[at].attributes, name: value})
    return changed


_CHANGES = {"object": _object, "colour": _colour, "count": _count, "relation": _relation, "attribute": _attribute}
