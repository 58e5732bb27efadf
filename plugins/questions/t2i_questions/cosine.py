"""The cosine of two embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Failure


def compute_cosine(one: NDArray[np.floating], other: NDArray[np.floating]) -> float | Failure:
    """Return the cosine of two embeddings of one space; a failure if one of them is 0.

    Args:
        one: Shape (d,).
        other: Shape (d,).
    """
    vectors = [np.asarray(each, np.float64) for each in (one, other)]
    lengths = [float(np.linalg.norm(each)) for each in vectors]
    if not all(lengths):
        return Failure("an embedding is 0, so it has no cosine")
    return float((vectors[0] / lengths[0]) @ (vectors[1] / lengths[1]))
