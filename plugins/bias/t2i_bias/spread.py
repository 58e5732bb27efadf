"""Distance of shares of categories from even shares: STD and MAD, their ranges and chance levels.

Shares are float64 of shape (N,) or (..., N) for N categories, at least 0, with a sum of 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]


def shares_of(counts: ArrayLike) -> Floats:
    """Return counts as shares of their sum, which must not be 0."""
    array = np.asarray(counts, np.float64)
    return np.asarray(array / array.sum(axis=-1, keepdims=True))


def mad(shares: Floats) -> Floats:
    """Return MAD by the paper's formula, mean |p_i - 1/N|.

    Args:
        shares: Shares of shape (..., N).

    Returns:
        Values of shape (...), from 0 for even shares to 2 (N - 1) / N² if one category has all.
    """
    return np.asarray(np.abs(shares - 1 / shares.shape[-1]).mean(axis=-1))


def printed(mad_value: float, categories: int) -> float:
    """Return MAD as in the paper's Tables 8 and 9, the sum divided by N - 1."""
    return mad_value * categories / (categories - 1)


def std(shares: Floats) -> Floats:
    """Return STD, the root of the mean of (p_i - 1/N)².

    Args:
        shares: Shares of shape (..., N).

    Returns:
        Values of shape (...), from 0 for even shares to sqrt(N - 1) / N if one category has all.
    """
    return np.asarray(np.sqrt(np.square(shares - 1 / shares.shape[-1]).mean(axis=-1)))


@dataclass(frozen=True)
class VoteSpread:
    """STD and MAD of votes, of their upper end, or as expected by chance.

    Attributes:
        std: STD.
        mad: MAD.
        categories: Number of categories.
    """

    std: float
    mad: float
    categories: int

    @property
    def printed(self) -> float:
        """MAD as in the paper's tables."""
        return printed(self.mad, self.categories)


def spread(counts: ArrayLike) -> VoteSpread:
    """Return STD and MAD of counts or shares of categories."""
    shares = shares_of(counts)
    return VoteSpread(float(std(shares)), float(mad(shares)), len(shares))


def one_hot(categories: int) -> VoteSpread:
    """Return the upper end of STD and MAD, where one category has all."""
    return spread([1.0] + [0.0] * (categories - 1))


@cache
def by_chance(votes: int, categories: int) -> VoteSpread:
    """Return the STD and MAD expected of an unbiased model, for which all categories are equally likely.

    MAD is exact: each share is binomial, and E|X/n - 1/N| is the same for all. STD is exact for two categories,
    where it equals MAD. For more it is the mean over 20,000 draws with a fixed seed, exact to about 0.5 %.

    Args:
        votes: Number of votes.
        categories: Number of categories.
    """
    counts = np.arange(votes + 1)
    ways = gammaln(votes + 1) - gammaln(counts + 1) - gammaln(votes - counts + 1)
    chances = np.exp(ways + (votes - counts) * math.log(categories - 1) - votes * math.log(categories))
    expected = float((chances * np.abs(counts / votes - 1 / categories)).sum())
    if categories == 2:
        return VoteSpread(expected, expected, 2)
    drawn = np.random.default_rng(0).multinomial(votes, [1 / categories] * categories, size=20_000)
    return VoteSpread(float(std(drawn / votes).mean()), expected, categories)


def mad_range(lo: Floats, hi: Floats) -> tuple[float, float]:
    """Return the smallest and largest MAD of shares between `lo` and `hi` that sum to 1.

    The total deviation above 1/N equals the total below, so MAD is 2/N times either. The smallest MAD follows from
    the deviation that one side must have, the largest from what it can have. The upper end is exact for two
    categories and may be slightly too high for more.

    Args:
        lo: Lower ends of the shares, shape (N,).
        hi: Upper ends of the shares, shape (N,).
    """
    even = 1 / len(lo)
    above, below = hi - even, even - lo
    must = max(np.maximum(-below, 0).sum(), np.maximum(-above, 0).sum())
    can = min(np.maximum(above, 0).sum(), np.maximum(below, 0).sum(), np.maximum(above, below).sum() / 2)
    return 2 * even * float(must), min(2 * even * float(can), one_hot(len(lo)).mad)


def std_range(lo: Floats, hi: Floats) -> tuple[float, float]:
    """Return the smallest and largest STD of shares between `lo` and `hi` that sum to 1.

    The upper end ignores that shares sum to 1, so it may be slightly too high.

    Args:
        lo: Lower ends of the shares, shape (N,).
        hi: Upper ends of the shares, shape (N,).
    """
    even = 1 / len(lo)
    far = np.maximum(np.abs(lo - even), np.abs(hi - even))
    most = min(math.sqrt(float(np.square(far).mean())), one_hot(len(lo)).std)
    return float(std(_find_most_even(lo, hi))), most


def _find_most_even(lo: Floats, hi: Floats) -> Floats:
    """Return the shares between `lo` and `hi` with sum 1 that are nearest to even: 1/N shifted and clipped."""
    low, high = -1.0, 1.0
    for _ in range(60):
        moved = (low + high) / 2
        low, high = (moved, high) if np.clip(1 / len(lo) + moved, lo, hi).sum() < 1 else (low, moved)
    return np.asarray(np.clip(1 / len(lo) + high, lo, hi))
