"""Captions of training pictures: true statements about all things of a picture, in randomly drawn words."""

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

#: Probability that a caption mentions a paint, an attribute of a person alone, and one of a person among others.
_PAINT, _ALONE, _AMONG = 0.75, 0.35, 0.15
#: Probability that a caption mentions a clear relation of two things, and names things of several kinds together.
_RELATION, _TOGETHER = 0.5, 0.05
#: Minimum ratio of the distances of the boxes' centres along the axis of a clear relation and across it.
_CLEAR = 1.4
#: Probabilities of naming things by kind and by leaf, for one thing and for several; otherwise by a higher class.
_ONE, _SEVERAL = (0.65, 0.15), (0.85, 0.08)


def caption(shown: Sequence[Instance], rng: np.random.Generator) -> str:
    """Return a caption of a picture with these things."""
    return words_for(statement(shown, rng), rng)


def words_for(reading: Reading, rng: np.random.Generator) -> str:
    """Return a text with this content, in a randomly drawn style."""
    styles = [style for style in STYLES if _suits(style, reading)]
    weights = np.array([STYLES[style] for style in styles])
    return say(reading, styles[int(rng.choice(len(styles), p=weights / weights.sum()))], rng)


def statement(shown: Sequence[Instance], rng: np.random.Generator) -> Reading:
    """Return a true statement about all things: names, numbers, looks and relations."""
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
            # if two things have the same name, the relation refers to the one named first
            sides = sides[1], sides[0]
    return Reading(phrases, sides)


def _groups(order: Sequence[Instance], rng: np.random.Generator) -> list[list[Instance]]:
    """Group things that are named together: by kind, in half of the cases by paint too; sometimes all things."""
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
        # a painted human always wears a coat of that paint
        said = [name for name in said if not (name == "coat" and paints)]
        worn = {name: group[0].attributes[name] for name in said}
    return Phrase(leaves, len(group), paints, worn)


def _class(group: Sequence[Instance], among: bool, rng: np.random.Generator) -> frozenset[str]:
    """Return the leaves of a named class that contains all things of a group."""
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
    """Return whether a style can express a statement: a relation in one sentence starts from the first thing."""
    return style.clause or not reading.sides or reading.sides[0].leaves == reading.phrases[0].leaves


def _clear(one: Instance, other: Instance) -> bool:
    across, down = (abs(a - b) for a, b in zip(_middle(one), _middle(other), strict=True))
    return max(across, down) > _CLEAR * min(across, down)


def _middle(one: Instance) -> tuple[float, float]:
    x0, y0, x1, y1 = one.box
    return (x0 + x1) / 2, (y0 + y1) / 2


def _shared(values: Sequence[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None
