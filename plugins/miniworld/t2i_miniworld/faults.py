"""Faults at known rates, applied to a finished layout: what stays, stays where it is.

Each decision has its own random stream, named by prompt, seed, salt and slot, so that a higher rate keeps the
faults of a lower one and adds to them, and one fault never shifts another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from t2i_miniworld.palette import PAINTS
from t2i_miniworld.scene import Placed, Scene
from t2i_miniworld.streams import stream


@dataclass(frozen=True)
class Faults:
    """How often a simulated model errs.

    drop         probability, 0 to 1, that a thing is left out; each after the first, independently
    wrong_color  probability, 0 to 1, that a thing with a paint gets another of the six, each as likely
    seed_sd      standard deviation, on the logit scale, of a seed's effect on both rates, shared by all prompts
    prompt_sd    likewise of a prompt's effect, shared by all seeds
    """

    drop: float = 0.0
    wrong_color: float = 0.0
    seed_sd: float = 0.0
    prompt_sd: float = 0.0


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


def apply(scene: Scene, faults: Faults, prompt: str, seed: int, salt: int) -> Scene:
    """Return the scene as the erring model draws it."""
    drop = rate(faults.drop, faults, prompt, seed, salt)
    wrong = rate(faults.wrong_color, faults, prompt, seed, salt)
    kept = [
        placed
        for placed in scene.placed
        if placed.slot == 0 or stream("drop", prompt, seed, salt, placed.slot).random() >= drop
    ]
    return replace(scene, placed=tuple(_repainted(placed, wrong, prompt, seed, salt) for placed in kept))


def _repainted(placed: Placed, wrong: float, prompt: str, seed: int, salt: int) -> Placed:
    if placed.thing.paint is None:
        return placed
    random = stream("wrong_color", prompt, seed, salt, placed.slot)
    if random.random() >= wrong:
        return placed
    others = [paint for paint in PAINTS if paint != placed.thing.paint]
    return replace(placed, thing=replace(placed.thing, paint=others[random.integers(len(others))]))
