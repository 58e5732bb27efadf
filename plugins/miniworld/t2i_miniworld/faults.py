"""Faults at known rates, applied to a finished layout: what stays, stays where it is.

In this order: `flip_relation`, `wrong_object`, `swap_colors`, `wrong_color`, `drop`; an `extra` thing comes on
top, in a place that the faultless layout leaves, and none of the others touches it.

Each decision has its own random stream, named by prompt, seed, salt and slot, so that a higher rate keeps the
faults of a lower one and adds to them, and one fault never shifts another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from t2i_miniworld.laws import Laws, dress, leaf_of
from t2i_miniworld.layout import exchanged, fit, pose
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, Scene, Thing, Tie
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import LEAVES


@dataclass(frozen=True)
class Faults:
    """How often a simulated model errs: probabilities, 0 to 1.

    drop           a thing is left out; each after the first, independently
    wrong_object   a thing is replaced by one of another leaf, each of the other 36 as likely, in the same place
                   and paint; each independently
    wrong_color    a thing with a paint gets another of the eight, each as likely; each independently
    swap_colors    the paints of a picture move on by one painted thing; nothing where fewer than two differ
    extra          a picture shows one thing more, as one of the asked, each as likely
    flip_relation  the two things of a picture's first relation exchange places
    seed_sd        standard deviation, on the logit scale, of a seed's effect on all rates, shared by all prompts
    prompt_sd      likewise of a prompt's effect, shared by all seeds
    """

    drop: float = 0.0
    wrong_object: float = 0.0
    wrong_color: float = 0.0
    swap_colors: float = 0.0
    extra: float = 0.0
    flip_relation: float = 0.0
    seed_sd: float = 0.0
    prompt_sd: float = 0.0


@dataclass(frozen=True)
class Draw:
    """One picture of one prompt by one erring model: what the random streams of its faults are named by."""

    faults: Faults
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


def rate(base: float, faults: Faults, prompt: str, seed: int, salt: int) -> float:
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


def apply(scene: Scene, ties: tuple[Tie, ...], draw: Draw) -> Scene:
    """Return the scene as the erring model draws it, but for an extra thing."""
    if ties and draw.happens("flip_relation"):
        scene = exchanged(scene, ties[0])
    placed = [
        _replaced(one, scene, draw) if draw.happens("wrong_object", one.slot) else one for one in scene.placed
    ]
    if draw.happens("swap_colors"):
        placed = _swapped(placed)
    placed = [
        _repainted(one, draw) if one.thing.paint is not None and draw.happens("wrong_color", one.slot) else one
        for one in placed
    ]
    return replace(
        scene, placed=tuple(one for one in placed if one.slot == 0 or not draw.happens("drop", one.slot))
    )


def extra_of(count: int, draw: Draw) -> int | None:
    """Which of ``count`` asked things the picture shows one more of, None where there is no extra thing."""
    return int(stream("extra-of", *draw.key).integers(count)) if draw.happens("extra") else None


def wrong_thing(placed: Placed, draw: Draw) -> Thing:
    """What is drawn instead of a thing: one of another leaf, in its paint."""
    key = ("wrong-object", placed.slot, *draw.key)
    own = leaf_of(placed.thing.kind, placed.form)
    others = [leaf for leaf in LEAVES if leaf != own]
    leaf = others[stream("leaf", *key).integers(len(others))]
    form, coat = dress(leaf, {}, Laws(), *key)
    return Thing(LEAVES[leaf], placed.thing.paint, form, coat)


def _replaced(placed: Placed, scene: Scene, draw: Draw) -> Placed:
    posed = pose(placed.slot, wrong_thing(placed, draw), "wrong-object", placed.slot, *draw.key)
    return fit(posed, placed.place, scene.stage)


def _swapped(placed: Sequence[Placed]) -> list[Placed]:
    """Each painted thing in the paint of the painted thing before it, the first in the last one's."""
    paints = [one.thing.paint for one in placed if one.thing.paint is not None]
    moved = iter(paints[-1:] + paints[:-1])
    return [_painted(one, next(moved)) if one.thing.paint is not None else one for one in placed]


def _repainted(placed: Placed, draw: Draw) -> Placed:
    others = [paint for paint in PAINTS if paint != placed.thing.paint]
    return _painted(placed, others[stream("wrong-paint", placed.slot, *draw.key).integers(len(others))])


def _painted(placed: Placed, paint: str) -> Placed:
    return replace(placed, thing=replace(placed.thing, paint=paint))
