"""Definition of a kind of thing."""

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
    """A kind of thing.

    Attributes:
        name: Name in prompts; `vocabulary.SYNSETS` has its WordNet 3.0 synset.
        build: Function (form, stream) -> model.
        forms: Bodies; `vocabulary.SUBKINDS` has those of sub-kinds.
        coats: Natural looks: material -> sRGB.
        marks: Colours of materials that all natural looks share.
        paint: Materials that take a prompt's colour, with the share of its light that they show.
        turn: Minimum and maximum rotation in degrees, from a side view (0) to facing the camera (90).
        lift: Height above the ground, relative to its own size.
        on_black: Colours of marks that would be invisible on a thing painted black.
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
        """WordNet 3.0 synset of the kind."""
        return SYNSETS[self.name]
