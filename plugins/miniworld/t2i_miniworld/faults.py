"""Faults at known rates, applied to a finished plan. Faults never move the other things.

They are applied in this order: `wrong_object`, `flip_relation`, `swap_colors`, `wrong_color`, `drop`. An `extra`
thing is added at the end, and no other fault changes it. Replacements and extra things are always chosen before
the layout, whether they are needed or not. The layout makes room for them and does not depend on the rates.

Each decision has its own random stream, keyed by prompt, seed, salt and slot. So the faults at a higher rate
include the faults at a lower rate, and one fault never changes the draws of another.
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
    """Error rates of a simulated model.

    Attributes:
        drop: Probability that a thing is left out; independent for each thing after the first.
        wrong_object: Probability that a thing is replaced by one of another leaf in the same place and paint, all
            36 other leaves equally likely; independent for each thing.
        wrong_color: Probability that a painted thing gets another of the eight paints, all equally likely;
            independent for each thing.
        swap_colors: Probability that each painted object of the prompt gets the paint of the one before it; no
            effect if fewer than two paints differ.
        extra: Probability that a picture has one more thing, like one of the requested ones, all equally likely.
        flip_relation: Probability that the two things of the first relation exchange places.
        misspell: Probability that a word on a sign is misspelt; independent for each word (see `signs`).
        seed_sd: Standard deviation of a seed's effect on the logit of all rates, shared by all prompts.
        prompt_sd: Standard deviation of a prompt's effect on the logit of all rates, shared by all seeds.

    Raises:
        ValueError: If a rate is not between 0 and 1, or a deviation is not between 0 and `MOST_SD`.
    """

    drop: float = 0.0
    wrong_object: float = 0.0
    wrong_color: float = 0.0
    swap_colors: float = 0.0
    extra: float = 0.0
    flip_relation: float = 0.0
    misspell: float = 0.0
    seed_sd: float = 0.0
    prompt_sd: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            most = MOST_SD if name.endswith("_sd") else 1
            if not 0 <= value <= most:
                raise ValueError(f"{name} must be between 0 and {most} (got {value})")


@dataclass(frozen=True)
class Draw:
    """One picture of one prompt by one simulated model; it names the random streams of the picture's faults."""

    faults: FaultRates
    prompt: str
    seed: int
    salt: int

    @property
    def key(self) -> tuple[str, int, int]:
        """Prompt, seed and salt, the key of the streams."""
        return self.prompt, self.seed, self.salt

    def happens(self, fault: str, *slot: int) -> bool:
        """Return whether a fault happens in this picture, or to the thing in one slot."""
        base = getattr(self.faults, fault)
        return bool(stream(fault, *self.key, *slot).random() < rate(base, self.faults, *self.key))


def rate(base: float, faults: FaultRates, prompt: str, seed: int, salt: int) -> float:
    """Return the rate for one prompt and seed: ``base`` shifted by their effects. 0 and 1 stay exact."""
    if base in (0.0, 1.0):
        return base
    effect = 0.0
    if faults.seed_sd:
        effect += faults.seed_sd * stream("seed-effect", seed, salt).standard_normal()
    if faults.prompt_sd:
        effect += faults.prompt_sd * stream("prompt-effect", prompt, salt).standard_normal()
    # This is the logistic function; tanh does not overflow for large effects, as exp does.
    return 0.5 * (1 + math.tanh((math.log(base / (1 - base)) + effect) / 2))


def apply(plan: ScenePlan, groups: Sequence[int], draw: Draw) -> PlacedScene:
    """Return the scene that the simulated model draws from a plan.

    Args:
        plan: The plan.
        groups: Index of the requested object that each thing belongs to.
        draw: The picture.
    """
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
    """Choose, by the laws, a replacement of another leaf in the same paint, for a thing with a form."""
    assert thing.form is not None
    own = leaf_of(thing.kind, thing.form)
    others = [leaf for leaf in LEAVES if leaf != own]
    leaf = others[stream("leaf", "wrong-object", slot, *key).integers(len(others))]
    form, coat = dress(leaf, {}, laws, "wrong-object", slot, *key)
    return Thing(LEAVES[leaf], thing.paint, form, coat)


def extra_of(count: int, *key: str | int) -> int:
    """Return the index of the requested thing, of ``count``, that an extra thing is like."""
    return int(stream("extra-of", *key).integers(count))


def _swapped(placed: Sequence[Placed], groups: Sequence[int]) -> list[Placed]:
    """Return the things with the paints moved on by one painted object; the first object gets the last paint."""
    paints = {groups[one.slot]: one.thing.paint for one in placed if one.thing.paint is not None}
    before = dict(zip(paints, [*paints.values()][-1:] + [*paints.values()][:-1], strict=True))
    return [_painted(one, before.get(groups[one.slot])) for one in placed]


def _repainted(placed: Placed, draw: Draw) -> Placed:
    others = [paint for paint in PAINTS if paint != placed.thing.paint]
    return _painted(placed, others[stream("wrong-paint", placed.slot, *draw.key).integers(len(others))])


def _painted(placed: Placed, paint: str | None) -> Placed:
    return replace(placed, thing=replace(placed.thing, paint=paint))
