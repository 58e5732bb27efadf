"""Images of a run in rows and columns, on one Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from t2i_core.api.image import Image
from t2i_core.api.study import Study
from t2i_core.files.image_file import DamagedImage

SIDE = 128
"""Of an image, in pixels."""


def picture(study: Study, model: str, prompt: str, seed: int) -> Image | None:
    """Return an image; None where it failed."""
    own = study.samples
    own = own[
        (own["model"] == model) & (own["prompt"] == prompt) & (own["seed"] == seed) & (own["status"] == "ok")
    ]
    return study.images[own.index[0]] if len(own) else None


def draw_pictures(rows: Sequence[tuple[str, Sequence[Image | None]]], columns: Sequence[str], axes: Any) -> None:
    """Draw a row of images for each name; an image that is gone or may not be shown stays white."""
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
        [SIDE * (place + 0.5) for place in range(len(columns))], [_broken(c) for c in columns], fontsize=7
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([SIDE * (line + 0.5) for line in range(len(rows))], [name for name, _ in rows], fontsize=7)


def _broken(prompt: str) -> str:
    return prompt.replace("+", "+\n")
