"""Squared distances of many vectors, block by block, so that memory stays flat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from t2i_torchmetrics.vectors import Floats

_NUMBERS = 1 << 23
"""Numbers in a block, which then has 64 MB."""

_ROUNDING = 1e-12
"""Squared distances below this share of the squared norms are 0: equal vectors differ by rounding alone."""


def iterate_distances(x: Floats, y: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows with their squared Euclidean distances.

    Args:
        x: Vectors of the rows, shape (n, d).
        y: Vectors of the columns, shape (m, d).

    Yields:
        The rows, and their distances of shape (rows, m).
    """
    norms = np.einsum("ij,ij->i", y, y)
    at_once = max(1, _NUMBERS // max(len(y), 1))
    for start in range(0, len(x), at_once):
        rows = slice(start, min(start + at_once, len(x)))
        own = np.einsum("ij,ij->i", x[rows], x[rows])
        sums = own[:, None] + norms
        squares = sums - 2 * (x[rows] @ y.T)
        squares[squares <= _ROUNDING * sums] = 0
        yield rows, squares
