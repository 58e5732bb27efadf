"""Rank correlations, Spearman's rho and Kendall's tau-b, with intervals, and with exact p-values for few pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
import scipy  # its `special` and `stats` are imported when they are first used
from numpy.typing import ArrayLike

from .design import Codes, Floats
from .estimate import check_level

EXACT = 8
"""Greatest number of pairs of which all permutations are enumerated: 8! = 40,320."""

FEWEST = 5
"""Smallest number of pairs for an interval."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Correlation:
    """A rank correlation with its confidence interval and two-sided p-value.

    Attributes:
        value: The correlation, in [-1, 1]; NaN for fewer than 3 pairs, or if either side is constant.
        lo: Lower end of the interval; NaN for fewer than 5 pairs.
        hi: Upper end of the interval; NaN for fewer than 5 pairs.
        p: Chance of a correlation at least this far from 0 if the pairing were random. Exact, from all
            permutations, up to 8 pairs; above, never below the chance 2 / n! of a perfect order.
        n: Number of pairs in which both values are finite.
        method: Name of the interval's method.
    """

    value: float
    lo: float
    hi: float
    p: float
    n: int
    method: str


def spearman(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Return Spearman's rho with its interval and p-value; above 8 pairs p is from Student's t.

    Args:
        a: Values, shape (n,). Pairs with a value that is not finite are left out.
        b: Values, shape (n,).
        level: The confidence level, in (0, 1).

    Raises:
        ValueError: If the shapes differ, or the level lies outside (0, 1).

    References:
        C. Spearman, The proof and measurement of association between two things (1904).
        D. G. Bonett and T. A. Wright, Sample size requirements for estimating Pearson, Kendall and Spearman
        correlations (2000), for the variance on Fisher's z scale.
    """
    x, y = _read_pairs(a, b, level)
    n = len(x)
    if not _vary(x, y):
        return _no_correlation(n)
    found = scipy.stats.spearmanr(x, y)
    value, p = float(found.statistic), float(found.pvalue)
    if n <= EXACT:
        own, other = (scipy.stats.rankdata(side) - (n + 1) / 2 for side in (x, y))
        p = _permutation_p((own * other[_list_orders(n)]).sum(axis=1))
    variance, quantile = (1 + value**2 / 2) / max(n - 3, 1), float(scipy.special.ndtri(0.5 + level / 2))
    return _make_correlation(value, p, n, quantile * math.sqrt(variance), 12 / (n * (n**2 - 1)))


def kendall(a: ArrayLike, b: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Return Kendall's tau-b with its interval and p-value; above 8 pairs p is scipy's.

    The arguments and errors are those of `spearman`. The interval's variance is that of values without ties. Its
    quantile is Student's: with the normal one 87 to 90 % of intervals held high correlations of 7 pairs.

    References:
        M. G. Kendall, The treatment of ties in ranking problems (1945).
        E. C. Fieller, H. O. Hartley and E. S. Pearson, Tests for rank correlation coefficients (1957), for the
        variance on Fisher's z scale.
    """
    x, y = _read_pairs(a, b, level)
    n = len(x)
    if not _vary(x, y):
        return _no_correlation(n)
    found = scipy.stats.kendalltau(x, y)
    value, p = float(found.statistic), float(found.pvalue)
    if n <= EXACT:
        first, second = np.triu_indices(n, 1)
        shuffled = y[_list_orders(n)]
        p = _permutation_p(
            (np.sign(x[first] - x[second]) * np.sign(shuffled[:, first] - shuffled[:, second])).sum(1)
        )
    variance, quantile = 0.437 / max(n - 4, 1), float(scipy.special.stdtrit(n - 2, 0.5 + level / 2))
    return _make_correlation(value, p, n, quantile * math.sqrt(variance), 4 / (n * (n - 1)))


def _read_pairs(a: ArrayLike, b: ArrayLike, level: float) -> tuple[Floats, Floats]:
    check_level(level)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"a and b must pair up in one dimension, got shapes {x.shape} and {y.shape}")
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _vary(x: Floats, y: Floats) -> bool:
    return len(x) > 2 and bool((x != x[0]).any() and (y != y[0]).any())


def _no_correlation(n: int) -> Correlation:
    reason = "fewer than 3 pairs" if n < 3 else "one side is constant"
    return Correlation(math.nan, math.nan, math.nan, math.nan, n, f"none ({reason})")


@cache
def _list_orders(n: int) -> Codes:
    """Return all orders of n things, the given order first, shape (n!, n)."""
    return np.array(list(permutations(range(n))), dtype=np.intp)


def _permutation_p(scores: Floats) -> float:
    """Return the share of scores at least as far from 0 as the first, which is that of the data."""
    return float((np.abs(scores) >= abs(scores[0]) - 1e-9).mean())


def _make_correlation(value: float, p: float, n: int, half: float, step: float) -> Correlation:
    """Return a correlation with its interval by Fisher's z.

    Args:
        value: The correlation.
        p: Its p-value.
        n: Number of pairs.
        half: Half of the interval's width on the scale of atanh(value).
        step: Distance of 1 from the next smaller value without ties. The interval of a perfect order is that of a
            correlation half a step away, because atanh(1) is infinite.
    """
    value = min(max(value, -1.0), 1.0)
    p = max(p, 2 * math.exp(-math.lgamma(n + 1)))
    if n < FEWEST:
        return Correlation(value, math.nan, math.nan, p, n, f"none (fewer than {FEWEST} pairs)")
    most = min(1 - step / 2, 1 - _ROUNDING)
    centre = math.atanh(min(max(value, -most), most))
    lo, hi = min(math.tanh(centre - half), value), max(math.tanh(centre + half), value)
    return Correlation(value, lo, hi, p, n, "Fisher's z")
