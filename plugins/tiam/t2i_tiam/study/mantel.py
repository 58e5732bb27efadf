"""Mantel test: correlation of two tables of pairs that share objects and so are not independent."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mantel(a: Floats, b: Floats, rounds: int = 1000) -> dict[str, float]:
    """Return Pearson's `r` and Spearman's `rho` over pairs, each with its two-sided permutation p.

    The permutations exchange the objects of b, not its pairs. They are the same in every call.

    Args:
        a: Symmetric matrix, float64 of shape (n, n); its diagonal is ignored.
        b: Likewise.
        rounds: Number of permutations.

    Returns:
        `r`, `p_r`, `rho` and `p_rho`; NaN if a or b does not vary.

    References:
        N. Mantel: The detection of disease clustering and a generalized regression approach. Cancer Research 27
        (1967).
    """
    n = len(a)
    rng = np.random.default_rng(0)
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(rounds))]
    upper = np.triu_indices(n, 1)
    pairs = np.stack([a[upper], *(b[np.ix_(order, order)][upper] for order in orders)])
    found: dict[str, float] = {}
    for name, values in (("r", pairs), ("rho", pd.DataFrame(pairs).rank(axis=1).to_numpy())):
        if (np.ptp(values[:2], axis=1) == 0).any():
            found |= {name: float("nan"), f"p_{name}": float("nan")}
            continue
        values = values - values.mean(axis=1, keepdims=True)
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        own, *null = values[1:] @ values[0]
        as_large = int((np.abs(null) >= abs(own) - 1e-12).sum())
        found |= {name: float(own), f"p_{name}": (1 + as_large) / (rounds + 1)}
    return found
