"""A set of images as vectors: read from what was observed, and drawn from by chance that stays put."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Sample

Floats = NDArray[np.float64]


def stacked(vectors: Sequence[NDArray[np.float32]]) -> Floats:
    """Return vectors as the rows of one array. Raises ValueError where they are not of one length."""
    return np.stack(vectors).astype(np.float64)


def chance(sample: Sample, seed: int, count: int) -> Floats:
    """Return numbers in [0, 1) that belong to one image.

    They do not depend on which other images there are, so that leaving images out of a set (the jackknife does)
    draws the others as before: new draws for each subset would be taken for a spread between images. They are the
    same for every model, which makes comparisons paired.
    """
    digest = hashlib.sha256(f"{sample.prompt.id}|{sample.seed}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:16])]).random(count)
