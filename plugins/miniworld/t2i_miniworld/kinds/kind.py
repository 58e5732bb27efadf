"""What a kind of thing is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from t2i_miniworld.palette import RGB
from t2i_miniworld.shapes.mesh import MeshModel
from t2i_miniworld.vocabulary import SYNSETS

Coat = dict[str, RGB]

EYE: RGB = (22, 20, 20)
WHITE: RGB = (232, 230, 224)
GREY: RGB = (150, 152, 156)
CHARCOAL: RGB = (58, 60, 64)


@dataclass(frozen=True)
class Kind:
    """One class of things.

    name     as prompts call it; `vocabulary.SYNSETS` has its WordNet 3.0 name
    build    (form, stream) -> model; ``forms`` are the bodies it knows, `vocabulary.SUBKINDS` names sub-kinds
    coats    natural looks: material -> sRGB; ``marks`` are the materials that all of them share
    paint    the materials that take a prompt's colour, with the share of its light they show
    turn     degrees by which it turns from a side view (0) to facing the camera (90), lowest and highest
    lift     how high it hovers over the ground, in its own size
    on_black colours of marks that would vanish on a thing painted black
    """

    name: str
    build: Callable[[str, np.random.Generator], MeshModel]
    forms: tuple[str, ...]
    coats: tuple[Coat, ...]
    marks: Coat
    paint: dict[str, float]
    turn: tuple[float, float]
    lift: float = 0.0
    on_black: Coat | None = None

    @property
    def synset(self) -> str:
        """Its WordNet 3.0 name."""
        return SYNSETS[self.name]
