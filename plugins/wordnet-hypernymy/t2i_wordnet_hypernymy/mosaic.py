"""Mosaics of images, one row for each synset, drawn on one Axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from t2i_core.api.image import Image
from t2i_core.api.study import Study
from t2i_core.files.image_file import DamagedImage

SIDE = 128
"""Width and height of an image in a mosaic, in pixels."""

COLUMNS = 6
"""Maximum number of images in a row, shared evenly by the models that it shows."""


def find_pictures(study: Study, models: Sequence[str], prompt: str) -> list[list[Image]]:
    """Return the first images of a prompt that can be shown, by seed, for each model that fits into a row."""
    samples = study.samples
    each = COLUMNS // min(len(models), COLUMNS)
    found = []
    for model in models[:COLUMNS]:
        own = samples[(samples["model"] == model) & (samples["prompt"] == prompt) & (samples["status"] == "ok")]
        images = study.images[own.sort_values("seed").index]
        found.append(list(islice((i for i in images if i.refused is None and i.path.is_file()), each)))
    return found


def draw_mosaic(rows: Sequence[tuple[str, Sequence[Sequence[Image]]]], models: Sequence[str], axes: Any) -> None:
    """Draw a row of images for each name, the models side by side.

    All models have the same width, that of the largest number of images. Images that cannot be read stay white.

    Args:
        rows: The label of each row, and its images for each model.
        models: Names of the models.
        axes: The matplotlib Axes.
    """
    each = max((len(files) for _, of_models in rows for files in of_models), default=0) or 1
    shown = models[:COLUMNS]
    canvas = np.full((SIDE * max(len(rows), 1), SIDE * each * len(shown), 3), 255, np.uint8)
    for line, (_, of_models) in enumerate(rows):
        for place, files in enumerate(of_models):
            for column, image in enumerate(files, place * each):
                try:
                    small = np.asarray(image.pil().resize((SIDE, SIDE)))
                except DamagedImage:
                    continue
                canvas[line * SIDE : (line + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = small
    axes.imshow(canvas)
    named = shown if len(models) > 1 else []
    axes.set_xticks([SIDE * each * (place + 0.5) for place in range(len(named))], named, fontsize=6)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([SIDE * (line + 0.5) for line in range(len(rows))], [name for name, _ in rows], fontsize=6)
