"""What training pictures show: things and relations, drawn at random, for each purpose in its own mixture.

Scenes differ by their number alone, so that the first of them are a fair sample of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from t2i_miniworld.classes import KINDS
from t2i_miniworld.laws import Laws, dress, leaves_of, parse_skews
from t2i_miniworld.layout import MOST, PREDICATES
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Thing, Tie
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LEAVES

#: What the people of the generator's pictures wear: four of five have a hat, and all else is even. A model that
#: learns from them is biased by that much, as a metric of bias should find.
SKEW = "hat:yes:0.8"

#: How many of the generator's pictures hold one, two, three and four things.
_COUNTS = (0.45, 0.31, 0.13, 0.11)
#: Of those of several: all of one kind, and all but one.
_ALIKE, _ALL_BUT_ONE = 0.35, 0.1
#: The same of the detector's pictures, of up to five things.
_DETECTOR_COUNTS, _DETECTOR_ALIKE = (0.3, 0.3, 0.15, 0.15, 0.1), 0.5
#: Of those of two: with a relation that was asked for, so that above and below are as frequent as left and right.
_TIED = 0.5
#: How many times as often as another kind a human is drawn: most is said of them.
_HUMAN = 2.0

_LAWS = Laws(skews=parse_skews(SKEW))


@dataclass(frozen=True)
class Wanted:
    """What a training picture is to show.

    extra  one thing more than a prompt may ask for, placed as the simulator places one that a fault adds
    """

    things: tuple[Thing, ...]
    ties: tuple[Tie, ...] = ()
    extra: Thing | None = None

    @property
    def shown(self) -> tuple[Thing, ...]:
        """All that is drawn: the things, and the one that stands where there is room left."""
        return self.things if self.extra is None else (*self.things, self.extra)


def for_segmenter(split: str, index: int) -> Wanted:
    """One to four things, half of them painted; a third of the scenes of several hold two or more of one kind."""
    rng = stream("training-scene", split, index)
    count = int(rng.choice(MOST, p=(0.22, 0.28, 0.25, 0.25))) + 1
    kinds = [str(kind) for kind in rng.choice(list(KINDS), size=count, replace=False)]
    if count > 1 and rng.random() < 1 / 3:
        alike = int(rng.integers(2, count + 1))
        kinds[:alike] = [kinds[0]] * alike
        kinds = [str(kind) for kind in rng.permutation(kinds)]
    paints = [_paint(rng) for _ in kinds]
    return Wanted(tuple(Thing(kind, paint) for kind, paint in zip(kinds, paints, strict=True)))


def for_generator(split: str, index: int) -> Wanted:
    """One thing in nearly half of the scenes, else up to four; half of the things painted.

    Things of one kind are mostly of one paint, and half of the time of one leaf: that is what texts with a number
    say. People are dressed by `SKEW`.
    """
    rng = stream("generator-scene", split, index)
    count = int(rng.choice(MOST, p=_COUNTS)) + 1
    weights = np.array([_HUMAN if kind == "human" else 1.0 for kind in KINDS])
    kinds = [str(kind) for kind in rng.choice(list(KINDS), size=count, replace=False, p=weights / weights.sum())]
    fate = rng.random()
    if count > 1 and fate < _ALIKE:
        kinds = [kinds[0]] * count
    elif count > 2 and fate < _ALIKE + _ALL_BUT_ONE:
        kinds = [kinds[0]] * (count - 1) + [kinds[1]]
    one_paint, one_leaf = rng.random() < 0.7, rng.random() < 0.5
    paints = {kind: _paint(rng) for kind in kinds}
    leaves = {kind: str(rng.choice(leaves_of(kind))) for kind in kinds}
    things = []
    for slot, kind in enumerate(kinds):
        paint, leaf = _paint(rng), str(rng.choice(leaves_of(kind)))
        form, coat = dress(leaves[kind] if one_leaf else leaf, {}, _LAWS, "generator-scene", split, index, slot)
        things.append(Thing(kind, paints[kind] if one_paint else paint, form, coat))
    tied = count == 2 and rng.random() < _TIED
    ties = (Tie(0, str(rng.choice(PREDICATES)), 1),) if tied else ()
    return Wanted(tuple(things), ties)


def for_people(split: str, index: int) -> Wanted:
    """One human, alone or, half of the time, with one other thing; what is worn is even.

    The generator's pictures show too few without a hat to learn from who wears one.
    """
    rng = stream("people-scene", split, index)
    kinds = ["human"]
    if rng.random() < 0.5:
        kinds.append(str(rng.choice([kind for kind in KINDS if kind != "human"])))
    things = []
    for slot, kind in enumerate(kinds):
        form, coat = dress(str(rng.choice(leaves_of(kind))), {}, Laws(), "people-scene", split, index, slot)
        things.append(Thing(kind, _paint(rng), form, coat))
    return Wanted(tuple(things))


def for_classifier(split: str, index: int) -> Wanted:
    """One thing, each of the lowest synsets as often, half of them painted; people wear what they like."""
    rng = stream("classifier-scene", split, index)
    leaf = str(rng.choice(list(LEAVES)))
    form, coat = dress(leaf, {}, Laws(), "classifier-scene", split, index)
    return Wanted((Thing(LEAVES[leaf], _paint(rng), form, coat),))


def for_detector(split: str, index: int) -> Wanted:
    """One to five things, as PaintSkills asks for them and as faults add to them.

    Half of those of several are all of one kind, a tenth all but one; half of them are alike in paint, and half of
    the things painted. Of the pairs half have a relation. Leaves and what people wear are left to the layout,
    which draws them as the simulator does.
    """
    rng = stream("detector-scene", split, index)
    count = int(rng.choice(MOST + 1, p=_DETECTOR_COUNTS)) + 1
    kinds = [str(kind) for kind in rng.choice(list(KINDS), size=count, replace=False)]
    fate = rng.random()
    if fate < _DETECTOR_ALIKE:
        kinds = [kinds[0]] * count
    elif count > 2 and fate < _DETECTOR_ALIKE + _ALL_BUT_ONE:
        kinds = [kinds[0]] * (count - 1) + [kinds[1]]
    paints = [_paint(rng) for _ in kinds]
    if rng.random() < 0.5:
        paints = [paints[0]] * count
    things = tuple(Thing(kind, paint) for kind, paint in zip(kinds, paints, strict=True))
    tied = count == 2 and rng.random() < _TIED
    ties = (Tie(0, str(rng.choice(PREDICATES)), 1),) if tied else ()
    return Wanted(things[:MOST], ties, things[MOST] if count > MOST else None)


#: By purpose: what a picture of a split shows.
SAMPLERS: dict[str, Callable[[str, int], Wanted]] = {
    "segmenter": for_segmenter,
    "generator": for_generator,
    "people": for_people,
    "classifier": for_classifier,
    "detector": for_detector,
}


def _paint(rng: np.random.Generator) -> str | None:
    return str(rng.choice(list(PAINTS))) if rng.random() < 0.5 else None
