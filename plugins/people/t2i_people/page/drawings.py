"""Drawings of plain shapes: images that surely show their prompt, for known answers such as `yes`.

A model's image need not show its prompt, so it cannot be a known answer that it does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from t2i_core.api.image import Image

from .pictures import StudyPicture

ARTIST = "t2i drawing"
"""Label under which drawings are stored, in place of a model's."""

_COLOURS = {"red": (204, 41, 41), "blue": (38, 78, 190), "green": (30, 132, 60)}
_SHAPES = ("circle", "square", "triangle")
_PAPER = (246, 244, 238)

DRAWN_PROMPTS = {
    f"t2i-drawing-{colour}-{shape}": (f"a {colour} {shape}", "") for colour in _COLOURS for shape in _SHAPES
}
"""Text and subset of each prompt, by id."""


@dataclass(frozen=True)
class Drawing(Image):
    """A shape on plain paper, drawn when its pixels are wanted.

    Attributes:
        name: Id of its prompt.
        seed: Seed of its place and size.
        size: Width and height in pixels.
    """

    name: str = ""
    seed: int = 0
    size: tuple[int, int] = (0, 0)

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The pixels, uint8 of shape (height, width, 3)."""
        *_, colour, shape = self.name.split("-")
        random, (width, height) = Random(f"{self.name} {self.seed}"), self.size
        radius = random.uniform(0.18, 0.3)
        centre = [random.uniform(radius + 0.05, 0.95 - radius) for _ in range(2)]
        rows, columns = np.mgrid[:height, :width]
        x, y = ((columns + 0.5) / width - centre[0]) / radius, ((rows + 0.5) / height - centre[1]) / radius
        inside = {
            "circle": np.hypot(x, y) <= 1,
            "square": np.maximum(abs(x), abs(y)) <= 0.85,
            "triangle": (y <= 0.8) & (2 * abs(x) <= y + 1),
        }
        return np.where(inside[shape][..., None], _COLOURS[colour], _PAPER).astype(np.uint8)


def list_drawings(grid: int, size: tuple[int, int]) -> Iterator[StudyPicture]:
    """Yield drawings of every prompt.

    Args:
        grid: Number of drawings of each prompt.
        size: Width and height in pixels.
    """
    for name in DRAWN_PROMPTS:
        for seed in range(grid):
            digest = hashlib.sha256(f"{name} {seed} {size}".encode()).hexdigest()
            image = Drawing(digest, Path(name), name=name, seed=seed, size=size)
            yield StudyPicture(ARTIST, name, seed, image, size)


def choose_drawing(random: Random) -> str:
    """Return the id of a random drawing's prompt."""
    names: Sequence[str] = tuple(DRAWN_PROMPTS)
    return random.choice(names)
