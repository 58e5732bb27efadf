"""Vectors of a set of images, and stable random numbers for samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Sample

Floats = NDArray[np.float64]


def stack(vectors: Sequence[NDArray[np.float32]]) -> Floats:
    """Return vectors as the rows of one array. Raises ValueError if their lengths differ."""
    return np.stack(vectors).astype(np.float64)


def draw_uniform(sample: Sample, seed: int, count: int) -> Floats:
    """Return random numbers in [0, 1) of one image.

    They do not depend on the other images, so that the jackknife, which leaves images out, draws the others as
    before. New draws for each subset would look like variance between images. The numbers are the same for every
    model, so that comparisons are paired.
    """
    digest = hashlib.sha256(f"{sample.prompt.id}|{sample.seed}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:16])]).random(count)


def draw_subset(draws: Floats, size: int) -> NDArray[np.intp]:
    """Return the indices of the smallest random numbers, which are a random subset."""
    return np.argpartition(draws, size - 1)[:size] if size < len(draws) else np.arange(len(draws))
