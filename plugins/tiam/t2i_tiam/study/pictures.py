"""Grids of a run's images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from t2i_core.api.image import Image
from t2i_core.api.study import Study
from t2i_core.files.image_file import DamagedImage

SIDE = 128
"""Width and height of an image in the grid, in pixels."""


def find_image(study: Study, model: str, prompt: str, seed: int) -> Image | None:
    """Return the image of a sample; None if it failed."""
    own = study.samples
    own = own[
        (own["model"] == model) & (own["prompt"] == prompt) & (own["seed"] == seed) & (own["status"] == "ok")
    ]
    return study.images[own.index[0]] if len(own) else None


def draw_images(rows: Sequence[tuple[str, Sequence[Image | None]]], columns: Sequence[str], axes: Any) -> None:
    """Draw labelled rows of images; missing images and images that may not be shown stay white."""
    canvas = np.full((SIDE * len(rows), SIDE * len(columns), 3), 255, np.uint8)
    for line, (_, images) in enumerate(rows):
        for column, image in enumerate(images):
            if image is None:
                continue
            try:
                small = np.asarray(image.pil().resize((SIDE, SIDE)))
            except DamagedImage:
                continue
            canvas[line * SIDE : (line + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = small
    axes.figure.set_size_inches(1.5 + 1.2 * len(columns), 0.8 + 1.2 * len(rows))
    axes.imshow(canvas)
    axes.set_xticks(
        [SIDE * (place + 0.5) for place in range(len(columns))], [_break_lines(c) for c in columns], fontsize=7
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([SIDE * (line + 0.5) for line in range(len(rows))], [name for name, _ in rows], fontsize=7)


def _break_lines(prompt: str) -> str:
    return prompt.replace("+", "+\n")
