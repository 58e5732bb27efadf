"""Crops of training pictures with things of one leaf: whole pictures, and squares around one thing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from t2i_core.api import Instance, Truth
from t2i_miniworld.annotations import leaf_of
from torch import Tensor, nn

#: Probability of a whole picture.
_WHOLE = 0.6
#: Range of the side of a square around a thing, relative to the thing's longer side.
_ROOM = (1.1, 2.0)
#: Maximum area of other things in a square, relative to the area of its thing's box.
_OTHERS = 0.15
_TRIES = 8


@dataclass(frozen=True)
class View:
    """A square crop of a picture, by centre and side in pixels; it may reach beyond the picture's edge."""

    picture: int
    x: float
    y: float
    side: float


class Things:
    """Crops of pictures by leaf.

    Raises:
        SystemExit: If no picture shows one of the ``leaves``.
    """

    def __init__(self, truths: Sequence[Truth], leaves: Sequence[str]) -> None:
        self._truths = truths
        self._alone: dict[str, list[int]] = {leaf: [] for leaf in leaves}
        self._all: dict[str, list[tuple[int, int]]] = {leaf: [] for leaf in leaves}
        for picture, truth in enumerate(truths):
            shown = [leaf_of(instance) for instance in truth.instances]
            for slot, leaf in enumerate(shown):
                self._all[leaf].append((picture, slot))
            if len(set(shown)) == 1:
                self._alone[shown[0]].append(picture)
        if missing := [leaf for leaf in leaves if not self._alone[leaf]]:
            raise SystemExit(f"no picture shows {', '.join(missing)} alone; draw more with training_data.py")

    def draw(self, leaf: str, rng: np.random.Generator) -> View:
        """Return a crop that shows only, or almost only, things of this leaf."""
        if rng.random() < _WHOLE:
            picture = self._alone[leaf][rng.integers(len(self._alone[leaf]))]
            return _whole(picture, self._truths[picture], rng)
        for _ in range(_TRIES):
            picture, slot = self._all[leaf][rng.integers(len(self._all[leaf]))]
            view = _about(picture, self._truths[picture].instances[slot], rng)
            if _others(self._truths[picture], slot, view) <= _OTHERS:
                break
        return view


def cut(images: Tensor, views: Sequence[View], random: torch.Generator) -> Tensor:
    """Crop pictures (N, 3, S, S), 0 to 1, and scale to S; mirror half of them, and rotate by up to 8 degrees."""
    count, side = len(images), images.shape[-1]
    mirror = torch.where(torch.rand(count, generator=random) < 0.5, -1.0, 1.0)
    angle = (2 * torch.rand(count, generator=random) - 1) * math.radians(8)
    scale = torch.tensor([view.side / side for view in views])
    centre = torch.tensor([[2 * view.x / side - 1, 2 * view.y / side - 1] for view in views])
    cos, sin = scale * angle.cos(), scale * angle.sin()
    turn = torch.stack([torch.stack([cos * mirror, -sin], 1), torch.stack([sin * mirror, cos], 1)], 1)
    where = nn.functional.affine_grid(
        torch.cat([turn, centre[..., None]], dim=2), list(images.shape), align_corners=False
    )
    found = nn.functional.grid_sample(images, where, padding_mode="reflection", align_corners=False)
    return found.clamp(0, 1)


def _whole(picture: int, truth: Truth, rng: np.random.Generator) -> View:
    """Return the whole picture, scaled by up to a quarter and shifted by up to a tenth."""
    width, height = truth.size
    right, down = rng.uniform(-0.1, 0.1, 2).tolist()
    return View(picture, width * (0.5 + right), height * (0.5 + down), width * math.exp(rng.uniform(-0.25, 0.22)))


def _about(picture: int, thing: Instance, rng: np.random.Generator) -> View:
    """Return a square that contains a thing at a random place."""
    left, top, right, bottom = thing.box
    side = max(right - left, bottom - top) * rng.uniform(*_ROOM)
    x = (left + right) / 2 + rng.uniform(-0.5, 0.5) * (side - (right - left))
    y = (top + bottom) / 2 + rng.uniform(-0.5, 0.5) * (side - (bottom - top))
    return View(picture, x, y, side)


def _others(truth: Truth, slot: int, view: View) -> float:
    """Return the area of other leaves' boxes in a square, relative to the area of the thing's box."""
    own = truth.instances[slot]
    left, top, filled = view.x - view.side / 2, view.y - view.side / 2, 0.0
    for other in truth.instances:
        if leaf_of(other) != leaf_of(own):
            x0, y0, x1, y1 = other.box
            wide = min(x1, left + view.side) - max(x0, left)
            high = min(y1, top + view.side) - max(y0, top)
            filled += max(0.0, wide) * max(0.0, high)
    x0, y0, x1, y1 = own.box
    return filled / ((x1 - x0) * (y1 - y0))
