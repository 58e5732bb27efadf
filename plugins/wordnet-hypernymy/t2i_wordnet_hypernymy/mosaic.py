"""Mosaics of images, one row for each synset."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from t2i_core.api.figure import Mosaic
from t2i_core.api.image import Image
from t2i_core.api.study import Study

COLUMNS = 6
"""Number of images in a row, shared evenly by the models; of more models than that, one image each."""


def find_pictures(study: Study, models: Sequence[str], prompt: str) -> list[list[Image]]:
    """Return the first images of a prompt that can be shown, by seed, for each model."""
    samples = study.samples
    each = max(1, COLUMNS // len(models))
    found = []
    for model in models:
        own = samples[(samples["model"] == model) & (samples["prompt"] == prompt) & (samples["status"] == "ok")]
        images = study.images[own.sort_values("seed").index]
        found.append(list(islice((i for i in images if i.refused is None and i.path.is_file()), each)))
    return found


def show_pictures(rows: Sequence[tuple[str, Sequence[Sequence[Image]]]], models: Sequence[str]) -> Mosaic:
    """Return a row of images for each name, the models side by side.

    All models have the same width, that of the largest number of images.

    Args:
        rows: The label of each row, and its images for each model.
        models: Names of the models.
    """
    each = max((len(files) for _, of_models in rows for files in of_models), default=0) or 1
    filled = [
        (label, [image for files in of_models for image in (*files, *[None] * (each - len(files)))])
        for label, of_models in rows
    ]
    return Mosaic(filled, models if len(models) > 1 else (), each, side=96)
