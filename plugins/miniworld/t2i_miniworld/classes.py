"""The things that live in the mini world: eight kinds, their forms, coats and poses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from t2i_miniworld.palette import RGB
from t2i_miniworld.shapes import animals, furniture, vehicles
from t2i_miniworld.shapes.mesh import Model
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import SYNSETS

Coat = dict[str, RGB]

#: Every form is built in this many variants, each with its own proportions and stance.
VARIANTS = 5


@dataclass(frozen=True)
class Kind:
    """One class of things.

    name     as prompts call it; `vocabulary.SYNSETS` has its WordNet 3.0 name
    build    (form, stream) -> model; ``forms`` are the sub-kinds it knows
    coats    natural looks: material -> sRGB; ``marks`` are the materials that all of them share
    paint    the materials that take a prompt's colour, with the share of its light they show
    turn     degrees by which it turns from a side view (0) to facing the camera (90), lowest and highest
    lift     how high it hovers over the ground, in its own size
    """

    name: str
    build: Callable[[str, np.random.Generator], Model]
    forms: tuple[str, ...]
    coats: tuple[Coat, ...]
    marks: Coat
    paint: dict[str, float]
    turn: tuple[float, float]
    lift: float = 0.0

    @property
    def synset(self) -> str:
        """Its WordNet 3.0 name."""
        return SYNSETS[self.name]


_EYE: RGB = (22, 20, 20)
_WHITE: RGB = (232, 230, 224)
_GREY: RGB = (150, 152, 156)
_CHARCOAL: RGB = (58, 60, 64)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "car",
            vehicles.car,
            ("sedan", "hatchback", "suv"),
            ({"body": _WHITE}, {"body": (176, 180, 184)}, {"body": (74, 78, 84)}, {"body": (196, 184, 160)}),
            {
                "glass": (44, 54, 64),
                "tyre": (32, 32, 34),
                "metal": (186, 188, 192),
                "lamp": (240, 236, 214),
                "tail": (120, 28, 26),
            },
            {"body": 1.0},
            turn=(5, 50),
        ),
        Kind(
            "refrigerator",
            furniture.refrigerator,
            ("freezer-top", "freezer-bottom", "side-by-side"),
            ({"body": _WHITE}, {"body": (188, 191, 194)}, {"body": (222, 212, 190)}, {"body": (120, 124, 130)}),
            {"gap": (40, 42, 46), "metal": (150, 152, 156)},
            {"body": 1.0},
            turn=(48, 110),
        ),
        Kind(
            "giraffe",
            animals.giraffe,
            ("giraffe",),
            (
                {"body": (226, 194, 140), "patch": (148, 88, 42)},
                {"body": (236, 216, 176), "patch": (122, 70, 34)},
                {"body": (216, 178, 122), "patch": (104, 58, 30)},
            ),
            {"muzzle": (206, 184, 156), "horn": (70, 46, 32), "foot": (74, 56, 42), "eye": _EYE},
            {"body": 1.0, "patch": 0.55},
            turn=(-20, 48),
        ),
        Kind(
            "elephant",
            animals.elephant,
            ("african", "asian"),
            (
                {"body": (138, 140, 146), "ear": (126, 127, 134)},
                {"body": (122, 118, 116), "ear": (112, 107, 106)},
                {"body": (154, 150, 146), "ear": (144, 138, 136)},
            ),
            {"foot": (112, 108, 104), "tusk": (238, 230, 208), "eye": _EYE},
            {"body": 1.0, "ear": 0.82},
            turn=(-10, 58),
        ),
        Kind(
            "zebra",
            animals.zebra,
            ("zebra",),
            ({"body": (240, 238, 232)}, {"body": (232, 226, 212)}),
            {"mark": (30, 28, 30), "eye": _EYE},
            {"body": 1.0},
            turn=(-20, 45),
        ),
        Kind(
            "airplane",
            vehicles.airplane,
            ("airliner", "propeller"),
            (
                {"body": (236, 237, 238), "accent": (84, 92, 108)},
                {"body": (196, 200, 205), "accent": (60, 62, 68)},
                {"body": (226, 220, 206), "accent": (120, 106, 90)},
            ),
            {"glass": (38, 46, 56), "metal": (142, 146, 152), "tyre": (34, 34, 36)},
            {"body": 1.0, "accent": 0.7},
            turn=(10, 60),
            lift=0.22,
        ),
        Kind(
            "dog",
            animals.dog,
            ("retriever", "shepherd", "dachshund"),
            (
                {"body": (196, 154, 100), "chest": (216, 182, 134), "ear": (172, 128, 80)},
                {"body": (104, 68, 44), "chest": (140, 98, 66), "ear": (78, 50, 34)},
                {"body": (64, 58, 56), "chest": (166, 120, 78), "ear": (52, 46, 46)},
                {"body": (226, 216, 198), "chest": (238, 232, 220), "ear": (166, 118, 76)},
            ),
            {"mark": (30, 26, 26), "eye": _EYE},
            {"body": 1.0, "chest": 0.8, "ear": 0.55},
            turn=(-10, 58),
        ),
        Kind(
            "chair",
            furniture.chair,
            ("slat-back", "panel-back", "armchair"),
            (
                {"body": (150, 104, 62), "seat": (164, 116, 72)},
                {"body": (92, 62, 42), "seat": (206, 194, 172)},
                {"body": (204, 170, 122), "seat": (212, 180, 134)},
                {"body": (96, 98, 102), "seat": (134, 136, 140)},
                {"body": (226, 222, 212), "seat": (198, 190, 176)},
            ),
            {"leg": (78, 54, 38)},
            {"body": 1.0, "seat": 1.0},
            turn=(15, 75),
        ),
    )
}


@cache
def model(kind: str, form: str, variant: int) -> Model:
    """Build one variant of one form: the same in every process, kept after the first time."""
    return KINDS[kind].build(form, stream("shape", kind, form, variant))
