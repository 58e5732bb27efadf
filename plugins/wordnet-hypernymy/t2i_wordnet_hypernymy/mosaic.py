"""Images of synsets in rows, on one Axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.metrics import Study

SIDE = 128
"""Of an image in a mosaic, in pixels."""

COLUMNS = 6
"""Images in a row, shared evenly by the models that it shows."""


def pictures(study: Study, models: Sequence[str], prompt: str) -> list[Path | None]:
    """Files of a prompt's first images by seed, as many of each model; None where a model has fewer."""
    samples = study.samples
    each = COLUMNS // min(len(models), COLUMNS)
    found: list[Path | None] = []
    for model in models[:COLUMNS]:
        own = samples[(samples["model"] == model) & (samples["prompt"] == prompt) & (samples["status"] == "ok")]
        files = own.sort_values("seed")["image"].head(each)
        found += [*(study.folder / str(file) for file in files), *[None] * (each - len(files))]
    return found


def draw_mosaic(rows: Sequence[tuple[str, Sequence[Path | None]]], models: Sequence[str], axes: Any) -> None:
    """Draw a row of images for each name, the models side by side."""
    from PIL import Image

    canvas = np.full((SIDE * max(len(rows), 1), SIDE * COLUMNS, 3), 255, np.uint8)
    for line, (_, files) in enumerate(rows):
        for column, file in enumerate(files):
            if file is None:
                continue
            with Image.open(file) as image:
                small = np.asarray(image.convert("RGB").resize((SIDE, SIDE)))
            canvas[line * SIDE : (line + 1) * SIDE, column * SIDE : (column + 1) * SIDE] = small
    axes.imshow(canvas)
    shown = models[:COLUMNS] if len(models) > 1 else []
    width = SIDE * (COLUMNS // max(len(shown), 1))
    axes.set_xticks([width * (place + 0.5) for place in range(len(shown))], shown, fontsize=6)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([SIDE * (line + 0.5) for line in range(len(rows))], [name for name, _ in rows], fontsize=6)
