"""Captions of training pictures: something true of all that a picture shows, in words drawn anew each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from t2i_core.api import Instance

from t2i_miniworld.annotations import leaf_of, relation_of
from t2i_miniworld.laws import ATTRIBUTES
from t2i_miniworld.names import called
from t2i_miniworld.phrases import OPPOSITE, Phrase, Reading, SideRelation
from t2i_miniworld.vocabulary import LEAVES
from t2i_miniworld.wording import STYLES, Style, say

#: How often a paint is said, where things have one; an attribute of a person alone, and of one among others.
_PAINT, _ALONE, _AMONG = 0.75, 0.35, 0.15
#: How often a relation is said of two things that clearly stand so, and things of several kinds are named as one.
_RELATION, _TOGETHER = 0.5, 0.05
#: A relation is clear when the boxes' centres are so many times as far apart along its axis as across it.
_CLEAR = 1.4
#: How often a thing is called by its kind, by its leaf, or else by a class above its kind: one thing, and several.
_ONE, _SEVERAL = (0.65, 0.15), (0.85, 0.08)


def caption(shown: Sequence[Instance], rng: np.random.Generator) -> str:
    """A caption of a picture that shows these things."""
    return words_for(statement(shown, rng), rng)


def words_for(reading: Reading, rng: np.random.Generator) -> str:
    """A text that says this, in a style drawn at random."""
    styles = [style for style in STYLES if _suits(style, reading)]
    weights = np.array([STYLES[style] for style in styles])
    return say(reading, styles[int(rng.choice(len(styles), p=weights / weights.sum()))], rng)


def statement(shown: Sequence[Instance], rng: np.random.Generator) -> Reading:
    """Something true of all things shown: what each is called, how many, what they look like, where they stand."""
    order = [shown[index] for index in rng.permutation(len(shown))]
    related = len(shown) == 2 and _clear(*order) and rng.random() < _RELATION
    groups = [[one] for one in order] if related else _groups(order, rng)
    phrases = tuple(_phrase(group, len(shown) > 1, rng) for group in groups)
    sides: tuple[SideRelation, ...] = ()
    if related:
        first, second = (0, 1) if rng.random() < 0.5 else (1, 0)
        predicate = relation_of(order[first], order[second])
        sides = (
            SideRelation(phrases[first].leaves, predicate),
            SideRelation(phrases[second].leaves, OPPOSITE[predicate]),
        )
        if phrases[0].leaves == phrases[1].leaves and first == 1:
            # Which of two of one name is meant is not said, so the first named is.
            sides = sides[1], sides[0]
    return Reading(phrases, sides)


def _groups(order: Sequence[Instance], rng: np.random.Generator) -> list[list[Instance]]:
    """What is named together: things of one kind, half of the time of one paint too; now and then everything."""
    if len(order) > 1 and rng.random() < _TOGETHER:
        return [list(order)]
    by_paint = rng.random() < 0.5
    groups: dict[tuple[str, str | None], list[Instance]] = {}
    for one in order:
        groups.setdefault((one.cls.name, one.colour if by_paint else None), []).append(one)
    return list(groups.values())


def _phrase(group: Sequence[Instance], among: bool, rng: np.random.Generator) -> Phrase:
    leaves, paint = _class(group, among, rng), _shared([one.colour for one in group])
    paints = (paint,) if paint is not None and rng.random() < _PAINT else ()
    worn = {}
    if len(group) == 1 and leaves == {leaf_of(group[0])} and group[0].cls.name == "human":
        said = [name for name in ATTRIBUTES if rng.random() < (_AMONG if among else _ALONE)]
        # Who is painted wears a coat of that paint.
        said = [name for name in said if not (name == "coat" and paints)]
        worn = {name: group[0].attributes[name] for name in said}
    return Phrase(leaves, len(group), paints, worn)


def _class(group: Sequence[Instance], among: bool, rng: np.random.Generator) -> frozenset[str]:
    """The leaves of a class that has a name and holds all of a group."""
    own = {leaf_of(one) for one in group}
    holding = [leaves for leaves in called() if own <= leaves]
    kinds = {LEAVES[leaf] for leaf in own}
    kind = frozenset(leaf for leaf, its in LEAVES.items() if its in kinds)
    by_kind, by_leaf = _SEVERAL if among else _ONE
    chance = rng.random()
    if chance < by_leaf and own in holding:
        return frozenset(own)
    if chance < by_leaf + by_kind and kind in holding:
        return kind
    above = [leaves for leaves in holding if leaves > kind]
    return above[int(rng.integers(len(above)))]


def _suits(style: Style, reading: Reading) -> bool:
    """Whether a style has words for a statement: a relation in one sentence starts from what is named first."""
    return style.clause or not reading.sides or reading.sides[0].leaves == reading.phrases[0].leaves


def _clear(one: Instance, other: Instance) -> bool:
    across, down = (abs(a - b) for a, b in zip(_middle(one), _middle(other), strict=True))
    return max(across, down) > _CLEAR * min(across, down)


def _middle(one: Instance) -> tuple[float, float]:
    x0, y0, x1, y1 = one.box
    return (x0 + x1) / 2, (y0 + y1) / 2


def _shared(values: Sequence[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None
