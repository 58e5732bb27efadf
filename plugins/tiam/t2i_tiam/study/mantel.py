"""Mantel test: correlation of two tables of pairs that share objects and so are not independent."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mantel(a: Floats, b: Floats, rounds: int = 1000) -> dict[str, float]:
    """Return Pearson's `r` and Spearman's `rho` over ordered pairs, each with its two-sided permutation p.

    With several tables b, such as one for each head of an attention, `r` and `rho` are the means over tables, and
    the p are of these means. The permutations exchange objects, not pairs. They are the same in every call.

    Args:
        a: Table by first and second object, float64 of shape (n, n); its diagonal is ignored.
        b: Likewise, or several, float64 of shape (k, n, n).
        rounds: Number of permutations.

    Returns:
        `r`, `p_r`, `rho` and `p_rho`; `sd_r` and `sd_rho`, the standard deviation over tables, NaN with one table.
        Tables that do not vary are left out; all are NaN if a does not vary, or no table does.

    References:
        N. Mantel: The detection of disease clustering and a generalized regression approach. Cancer Research 27
        (1967).
    """
    n = len(a)
    rng = np.random.default_rng(0)
    orders = [np.arange(n), *(rng.permutation(n) for _ in range(rounds))]
    pairs = ~np.eye(n, dtype=bool)
    of_a = np.stack([a[np.ix_(order, order)][pairs] for order in orders])
    of_b = b.reshape(-1, n, n)[:, pairs]
    of_b = of_b[np.ptp(of_b, axis=1) > 0]
    if not len(of_b) or np.ptp(of_a[0]) == 0:
        return dict.fromkeys(("r", "sd_r", "p_r", "rho", "sd_rho", "p_rho"), float("nan"))
    found: dict[str, float] = {}
    for name, x, y in (("r", of_a, of_b), ("rho", _rank(of_a), _rank(of_b))):
        each = _standardise(x) @ _standardise(y).T  # permutations by tables
        own, *null = each.mean(axis=1)
        as_large = int((np.abs(null) >= abs(own) - 1e-12).sum())
        sd = float(each[0].std(ddof=1)) if len(of_b) > 1 else float("nan")
        found |= {name: float(own), f"sd_{name}": sd, f"p_{name}": (1 + as_large) / (rounds + 1)}
    return found


def _rank(values: Floats) -> Floats:
    return pd.DataFrame(values).rank(axis=1).to_numpy()


def _standardise(values: Floats) -> Floats:
    """Return rows with mean 0 and length 1."""
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))
