"""Faults at known rates, applied to a finished plan: what stays, stays where it is.

In this order: `wrong_object`, `flip_relation`, `swap_colors`, `wrong_color`, `drop`; an `extra` thing comes on
top, and none of the others touches it. What may be drawn instead of a thing, or beside all of them, is chosen
before the layout, needed or not: the layout makes room for it and knows nothing of the rates.

Each decision has its own random stream, named by prompt, seed, salt and slot, so that a higher rate keeps the
faults of a lower one and adds to them, and one fault never shifts another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from t2i_miniworld.laws import Laws, dress, leaf_of
from t2i_miniworld.layout import exchanged
from t2i_miniworld.options import MOST_SD
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, PlacedScene, ScenePlan, Thing
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LEAVES


@dataclass(frozen=True)
class FaultRates:
    """How often a simulated model errs: probabilities, 0 to 1.

    drop           a thing is left out; each after the first, independently
    wrong_object   a thing is replaced by one of another leaf, each of the other 36 as likely, in the same place
                   and paint; each independently
    wrong_color    a thing with a paint gets another of the eight, each as likely; each independently
    swap_colors    the paints of a picture move on by one painted object, with all of its things; nothing where
                   fewer than two differ
    extra          a picture shows one thing more, as one of the asked, each as likely
    flip_relation  the two things of a picture's first relation exchange places
    seed_sd        standard deviation, on the logit scale, of a seed's effect on all rates, shared by all prompts
    prompt_sd      likewise of a prompt's effect, shared by all seeds

    Raises ValueError for a number outside its range: a rate below 0 or above 1, a deviation below 0 or above
    `MOST_SD`, and for what is no number.
    """

    drop: float = 0.0
    wrong_object: float = 0.0
    wrong_color: float = 0.0
    swap_colors: float = 0.0
    extra: float = 0.0
    flip_relation: float = 0.0
    seed_sd: float = 0.0
    prompt_sd: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            most = MOST_SD if name.endswith("_sd") else 1
            if not 0 <= value <= most:
                raise ValueError(f"{name} lies between 0 and {most}, not at {value}")


@dataclass(frozen=True)
class Draw:
    """One picture of one prompt by one erring model: what the random streams of its faults are named by."""

    faults: FaultRates
    prompt: str
    seed: int
    salt: int

    @property
    def key(self) -> tuple[str, int, int]:
        """Prompt, seed and salt, as names of streams."""
        return self.prompt, self.seed, self.salt

    def happens(self, fault: str, *slot: int) -> bool:
        """Whether a fault happens in this picture, or to the thing in one slot."""
        base = getattr(self.faults, fault)
        return bool(stream(fault, *self.key, *slot).random() < rate(base, self.faults, *self.key))


def rate(base: float, faults: FaultRates, prompt: str, seed: int, salt: int) -> float:
    """The rate that holds for one prompt and seed: ``base`` moved by their effects; 0 and 1 stay exact."""
    if base in (0.0, 1.0):
        return base
    effect = 0.0
    if faults.seed_sd:
        effect += faults.seed_sd * stream("seed-effect", seed, salt).standard_normal()
    if faults.prompt_sd:
        effect += faults.prompt_sd * stream("prompt-effect", prompt, salt).standard_normal()
    # exp of a large effect may overflow: tanh is the same function and does not.
    return 0.5 * (1 + math.tanh((math.log(base / (1 - base)) + effect) / 2))


def apply(plan: ScenePlan, groups: Sequence[int], draw: Draw) -> PlacedScene:
    """Return what the erring model draws of a plan; ``groups`` says of which asked object each thing is one."""
    scene = plan.scene
    placed = [plan.instead[one.slot] if draw.happens("wrong_object", one.slot) else one for one in scene.placed]
    if plan.ties and draw.happens("flip_relation"):
        placed = exchanged(placed, plan.ties[0], scene.stage)
    if draw.happens("swap_colors"):
        placed = _swapped(placed, groups)
    placed = [
        _repainted(one, draw) if one.thing.paint is not None and draw.happens("wrong_color", one.slot) else one
        for one in placed
    ]
    placed = [one for one in placed if one.slot == 0 or not draw.happens("drop", one.slot)]
    if plan.extra is not None and draw.happens("extra"):
        placed.append(plan.extra)
    return replace(scene, placed=tuple(placed))


def wrong_thing(thing: Thing, slot: int, laws: Laws, *key: str | int) -> Thing:
    """What a wrong object is instead of a thing with a form: one of another leaf, in its paint, by the laws."""
    assert thing.form is not None
    own = leaf_of(thing.kind, thing.form)
    others = [leaf for leaf in LEAVES if leaf != own]
    leaf = others[stream("leaf", "wrong-object", slot, *key).integers(len(others))]
    form, coat = dress(leaf, {}, laws, "wrong-object", slot, *key)
    return Thing(LEAVES[leaf], thing.paint, form, coat)


def extra_of(count: int, *key: str | int) -> int:
    """Which of ``count`` asked things an extra one is like."""
    return int(stream("extra-of", *key).integers(count))


def _swapped(placed: Sequence[Placed], groups: Sequence[int]) -> list[Placed]:
    """The things of each painted object in the paint of the one before it, the first one's in the last one's."""
    paints = {groups[one.slot]: one.thing.paint for one in placed if one.thing.paint is not None}
    before = dict(zip(paints, [*paints.values()][-1:] + [*paints.values()][:-1], strict=True))
    return [_painted(one, before.get(groups[one.slot])) for one in placed]


def _repainted(placed: Placed, draw: Draw) -> Placed:
    others = [paint for paint in PAINTS if paint != placed.thing.paint]
    return _painted(placed, others[stream("wrong-paint", placed.slot, *draw.key).integers(len(others))])


def _painted(placed: Placed, paint: str | None) -> Placed:
    return replace(placed, thing=replace(placed.thing, paint=paint))
