"""Spearman's rho of values that lie in clusters, such as images of prompts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .correlation import FEWEST
from .design import Codes, Floats, encode_levels
from .estimate import Estimate, check_level
from .pairwise_accuracy import QUESTION, estimate_by_clusters


def cluster_spearman(
    a: ArrayLike, b: ArrayLike, cluster: ArrayLike, group: ArrayLike | None = None, *, level: float = 0.95
) -> Estimate:
    """Return Spearman's rho in [-1, 1] with its interval over clusters, each left out in turn (jackknife).

    Args:
        a: Finite values, shape (n,).
        b: Finite values, shape (n,).
        cluster: The cluster of each row, labels of any hashable kind, shape (n,).
        group: If given, rho is the mean of the groups' own, weighted by their numbers of rows, shape (n,). Groups
            of fewer than 5 rows, and those with a constant side, do not count.
        level: The confidence level, in (0, 1).

    Returns:
        Rho; NaN for fewer than 3 rows or a constant side. No interval below 5 clusters.

    Raises:
        ValueError: If shapes differ, or a value is not finite.
    """
    check_level(level)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"a and b must pair up in one dimension, got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("values must be finite: leave rows without a value out")
    clusters = encode_levels(cluster, "cluster", len(x))[0]
    groups = np.zeros(len(x), np.intp) if group is None else encode_levels(group, "group", len(x))[0]
    least = 3 if group is None else FEWEST
    blocks = []
    for rows in (np.flatnonzero(groups == each) for each in np.unique(groups)):
        if len(rows) >= least and np.ptp(x[rows]) > 0 and np.ptp(y[rows]) > 0:
            blocks.append((rows, _number_values(x[rows]), _number_values(y[rows])))
    if not blocks:
        reason = f"fewer than {least} rows, or one side is constant"
        return Estimate(math.nan, math.nan, math.nan, f"none ({reason})", QUESTION, 0)
    kept = np.concatenate([rows for rows, _, _ in blocks])
    size = np.array([len(rows) for rows, _, _ in blocks], dtype=np.float64)

    def statistic(weights: Floats) -> float:
        found = [_compute_rho(own, other, weights[rows]) for rows, own, other in placed]
        return float((size * found).sum() / size.sum())

    # rows that count, numbered anew
    ends = np.cumsum(size).astype(np.intp)
    placed = [
        (np.arange(end - len(rows), end), own, other) for end, (rows, own, other) in zip(ends, blocks, strict=True)
    ]
    estimate = estimate_by_clusters(statistic, clusters[kept], (-1.0, 1.0), level)
    if estimate.n_clusters >= FEWEST:
        return estimate
    return replace(estimate, lo=math.nan, hi=math.nan, method=f"none (fewer than {FEWEST} prompts)")


def _number_values(values: Floats) -> Codes:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _compute_rho(a: Codes, b: Codes, weights: Floats) -> float:
    """Return the weighted correlation of weighted midranks; NaN if one side is constant among positive weights."""
    total = weights.sum()
    x, y = (_rank(codes, weights) for codes in (a, b))
    x, y = x - (weights * x).sum() / total, y - (weights * y).sum() / total
    spread = float((weights * x * x).sum()) * float((weights * y * y).sum())
    if not spread > 0:
        return math.nan
    return min(max(float((weights * x * y).sum()) / math.sqrt(spread), -1.0), 1.0)


def _rank(codes: Codes, weights: Floats) -> Floats:
    mass = np.bincount(codes, weights)
    ranks: Floats = (np.cumsum(mass) - mass / 2)[codes]
    return ranks
