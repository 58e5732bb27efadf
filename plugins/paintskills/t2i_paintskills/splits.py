"""Scenes of the paper's splits, drawn from a seed.

All texts appear equally often. Properties that a text does not specify are drawn uniformly and independently of
the text, so that only the text tells what an image shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, get_args

from .scene_file import PLAIN, SceneFile, of_scenes
from .skills import SEEDS, Skill, SkillText, items

Split = Literal["train", "val"]
SPLITS: tuple[Split, ...] = get_args(Split)

REPEATS: dict[Split, dict[Skill, int]] = {
    "train": {"object": 1000, "count": 300, "color": 200, "spatial": 16},
    "val": SEEDS,
}
"""Number of repeats of each text.

They give 21000, 25200, 25200 and 28224 scenes for training (the paper prints 28,244 for the last), and 1050, 2520,
2520 and 3528 for validation.
"""

SCALES: dict[Skill, tuple[float, float]] = {"object": (3, 6), "count": (1, 2), "color": (3, 6), "spatial": (2, 3)}
CHARACTERS = ("humanSophie", "humanKate")
STATES: dict[str, tuple[str | None, ...]] = {
    "human": ("sitting", None),
    "dog": ("standing", "sitting"),
    "bird": ("flying", "perched"),
    "bear": ("standing", "upright"),
}


def draw_split(skill: Skill, split: Split, seed: int = 0) -> SceneFile:
    """Draw one split of one skill; its scenes depend only on skill, split and seed."""
    rng = Random(f"paintskills/{skill}/{split}/{seed}")
    return of_scenes(list(_draw_scenes(skill, split, rng)))


def _draw_scenes(skill: Skill, split: Split, rng: Random) -> Iterator[dict[str, Any]]:
    for number, item in enumerate(item for _ in range(REPEATS[split][skill]) for item in items(skill)):
        yield {
            "id": f"{skill}_{split}_{number:05d}",
            "scene": "empty",
            "text": item.text,
            "skill": skill,
            "split": split,
            "objects": [_draw_object(item, n, rng) for n in range(max(len(item.shapes), item.count))],
        }


def _draw_object(item: SkillText, number: int, rng: Random) -> dict[str, Any]:
    shape = item.shapes[min(number, len(item.shapes) - 1)]
    return {
        "id": number,
        "shape": rng.choice(CHARACTERS) if shape == "human" else shape,
        "color": item.colour or PLAIN,
        "relation": f"{item.relation}_0" if number and item.relation else None,
        "scale": rng.uniform(*SCALES[item.skill]),
        "texture": "pure" if item.colour else PLAIN,
        "rotation": [0.0, rng.uniform(0, 360), 0.0],  # about x, y (up) and z, in degrees
        "state": rng.choice(STATES.get(shape, (None,))),
    }
