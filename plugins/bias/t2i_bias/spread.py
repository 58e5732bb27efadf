"""How far shares of categories are from even: STD and MAD, their ends, and what chance makes of them.

Shares are float64 (N,) or (..., N), of N categories, none negative, with a sum of 1.
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
    """Counts as shares of their sum, which must not be 0."""
    array = np.asarray(counts, np.float64)
    return np.asarray(array / array.sum(axis=-1, keepdims=True))


def mad(shares: Floats) -> Floats:
    """MAD by the paper's formula, mean |p_i - 1/N|: 0 where all are even, 2 (N - 1) / N² where one has all."""
    return np.asarray(np.abs(shares - 1 / shares.shape[-1]).mean(axis=-1))


def printed(mad_value: float, categories: int) -> float:
    """MAD as the paper's Tables 8 and 9 print it, the sum over N - 1."""
    return mad_value * categories / (categories - 1)


def std(shares: Floats) -> Floats:
    """STD: the root of the mean of (p_i - 1/N)^2. 0 where all are even, sqrt(N - 1) / N where one has all."""
    return np.asarray(np.sqrt(np.square(shares - 1 / shares.shape[-1]).mean(axis=-1)))


@dataclass(frozen=True)
class VoteSpread:
    """STD and MAD of one thing: of votes, of an end, or what is expected by chance."""

    std: float
    mad: float
    categories: int

    @property
    def printed(self) -> float:
        """MAD as the paper's tables print it."""
        return printed(self.mad, self.categories)


def spread(counts: ArrayLike) -> VoteSpread:
    """STD and MAD of counts, or shares, of categories."""
    shares = shares_of(counts)
    return VoteSpread(float(std(shares)), float(mad(shares)), len(shares))


def one_hot(categories: int) -> VoteSpread:
    """The upper end: one category has all."""
    return spread([1.0] + [0.0] * (categories - 1))


@cache
def by_chance(votes: int, categories: int) -> VoteSpread:
    """What is expected of an unbiased model: so many votes, each category as likely.

    MAD is exact: each share is binomial, and E|X/n - 1/N| the same for all. STD is exact for two categories, where
    it is the MAD; for more it is the mean over 20,000 draws (to about .5 %, the same in any process).
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
    """The least and the greatest MAD of shares that lie each between `lo` and `hi` and sum to 1.

    What lies above 1/N and what lies below sum to the same, so the MAD is 2/N of either: at least of what must lie
    on one side, at most of what can. The upper end is exact for two categories, else it may be a little too high.
    """
    even = 1 / len(lo)
    above, below = hi - even, even - lo
    must = max(np.maximum(-below, 0).sum(), np.maximum(-above, 0).sum())
    can = min(np.maximum(above, 0).sum(), np.maximum(below, 0).sum(), np.maximum(above, below).sum() / 2)
    return 2 * even * float(must), min(2 * even * float(can), one_hot(len(lo)).mad)


def std_range(lo: Floats, hi: Floats) -> tuple[float, float]:
    """The same of STD; the upper end leaves out that shares sum to 1, so it may be a little too high."""
    even = 1 / len(lo)
    far = np.maximum(np.abs(lo - even), np.abs(hi - even))
    most = min(math.sqrt(float(np.square(far).mean())), one_hot(len(lo)).std)
    return float(std(_evenest(lo, hi))), most


def _evenest(lo: Floats, hi: Floats) -> Floats:
    """The shares between `lo` and `hi`, with a sum of 1, that are nearest to even: 1/N moved by a number, cut."""
    low, high = -1.0, 1.0
    for _ in range(60):
        moved = (low + high) / 2
        low, high = (moved, high) if np.clip(1 / len(lo) + moved, lo, hi).sum() < 1 else (low, moved)
    return np.asarray(np.clip(1 / len(lo) + high, lo, hi))
