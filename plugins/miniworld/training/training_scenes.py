"""Random scenes of training pictures, with a mixture of things and relations for each purpose.

A scene depends only on its number, so the first scenes are a fair sample of all.
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

#: Skew of the generator's pictures: four of five people have a hat, and everything else is uniform. A model
#: trained on them has this known bias, which a metric of bias should find.
SKEW = "hat:yes:0.8"

#: Shares of the generator's pictures with one, two, three and four things.
_COUNTS = (0.45, 0.31, 0.13, 0.11)
#: Among pictures with several things: shares with all of one kind, and with all but one.
_ALIKE, _ALL_BUT_ONE = 0.35, 0.1
#: The same for the detector's pictures, with up to five things.
_DETECTOR_COUNTS, _DETECTOR_ALIKE = (0.3, 0.3, 0.15, 0.15, 0.1), 0.5
#: Share of pictures with two things that request a relation, so that all four relations are equally frequent.
_TIED = 0.5
#: Frequency of humans relative to another kind; texts say most about humans.
_HUMAN = 2.0

_LAWS = Laws(skews=parse_skews(SKEW))


@dataclass(frozen=True)
class Wanted:
    """Scene of a training picture.

    Attributes:
        things: The things.
        ties: Relations between them.
        extra: One more thing than a prompt may ask for, placed like the extra thing of a fault.
    """

    things: tuple[Thing, ...]
    ties: tuple[Tie, ...] = ()
    extra: Thing | None = None

    @property
    def shown(self) -> tuple[Thing, ...]:
        """All things of the picture, including the extra one."""
        return self.things if self.extra is None else (*self.things, self.extra)


def for_segmenter(split: str, index: int) -> Wanted:
    """Draw one to four things, half of them painted; a third of scenes with several have two or more of a kind."""
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
    """Draw one thing in almost half of the scenes, otherwise up to four; half of the things are painted.

    Things of one kind mostly have the same paint, and in half of the cases the same leaf, as texts with a number
    require. `SKEW` determines what people wear.
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


def for_single(split: str, index: int) -> Wanted:
    """Draw one thing, all kinds equally likely, half of them painted: pictures without counts and relations."""
    rng = stream("single-scene", split, index)
    kind = str(rng.choice(list(KINDS)))
    form, coat = dress(str(rng.choice(leaves_of(kind))), {}, _LAWS, "single-scene", split, index)
    return Wanted((Thing(kind, _paint(rng), form, coat),))


def for_people(split: str, index: int) -> Wanted:
    """Draw one human, in half of the scenes with another thing; clothes are uniform.

    The generator's pictures have too few people without a hat to learn hats from.
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
    """Draw one thing, all lowest synsets equally likely, half of them painted; clothes are random."""
    rng = stream("classifier-scene", split, index)
    leaf = str(rng.choice(list(LEAVES)))
    form, coat = dress(leaf, {}, Laws(), "classifier-scene", split, index)
    return Wanted((Thing(LEAVES[leaf], _paint(rng), form, coat),))


def for_detector(split: str, index: int) -> Wanted:
    """Draw one to five things, as PaintSkills requests them and faults add to them.

    Of the scenes with several things, half have all of one kind, and a tenth all but one. Half of them have the
    same paint, and half of the things are painted. Half of the pairs have a relation. The layout chooses leaves
    and clothes, as for the simulator.
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


#: Function that draws the scene of a picture, by purpose.
SAMPLERS: dict[str, Callable[[str, int], Wanted]] = {
    "segmenter": for_segmenter,
    "generator": for_generator,
    "single": for_single,
    "people": for_people,
    "classifier": for_classifier,
    "detector": for_detector,
}


def _paint(rng: np.random.Generator) -> str | None:
    return str(rng.choice(list(PAINTS))) if rng.random() < 0.5 else None
