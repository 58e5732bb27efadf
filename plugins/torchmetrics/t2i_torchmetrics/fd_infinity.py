"""A Frechet distance without the bias of small sets: extrapolated to infinitely many images.

References:
    M. J. Chong and D. Forsyth, Effectively Unbiased FID and Inception Score and Where to Find Them (2020),
    section 4; sizes and fit as in G. Stein et al., Exposing Flaws of Generative Model Evaluation Metrics (2023).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

POINTS = 15
"""Number of sizes."""

_LEAST = 5000
"""The smallest size, if there are enough images."""


def list_sizes(images: int) -> NDArray[np.intp]:
    """Return the sizes of the subsets of a number of images, ascending; the last one is the whole set."""
    return np.linspace(min(_LEAST, max(images // 10, 2)), images, POINTS).astype(np.intp)


def extrapolate(sizes: Sequence[int] | NDArray[np.intp], distances: Sequence[float]) -> float:
    """Return the intercept of the least-squares line of distances against 1 / size."""
    return float(np.polynomial.polynomial.polyfit(1 / np.asarray(sizes, np.float64), distances, 1)[0])
