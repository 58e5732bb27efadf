"""Correlation of two tables of pairs, whose entries share objects and so are not independent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def mantel(a: Floats, b: Floats, rounds: int = 1000) -> dict[str, float]:
    """Return Pearson's `r` and Spearman's `rho` over pairs, each with its two-sided permutation p.

    a, b: float64 (n, n), symmetric; diagonals are not looked at. The objects of b are permuted, not its pairs.
    NaN where either does not vary. Deterministic.

    Source: N. Mantel, The detection of disease clustering and a generalized regression approach (1967).
    """
    n = len(a)
    rng = np.random.default_rng(0)
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(rounds))]
    upper = np.triu_indices(n, 1)
    first, second = a[upper], np.stack([b[np.ix_(order, order)][upper] for order in orders])
    found = {}
    for name, x, y in (("r", first, second), ("rho", rankdata(first), rankdata(second, axis=1))):
        if np.ptp(x) == 0 or np.ptp(y[0]) == 0:
            found |= {name: float("nan"), f"p_{name}": float("nan")}
            continue
        x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
        null = y @ x / (np.linalg.norm(x) * np.linalg.norm(y[0]))
        as_large = int((np.abs(null[1:]) >= abs(null[0]) - 1e-12).sum())
        found |= {name: float(null[0]), f"p_{name}": (1 + as_large) / (rounds + 1)}
    return found
