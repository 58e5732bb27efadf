"""Tests of differences between scores of which only the intervals are known, adjusted for their number.

The intervals of scores are combined as for independent scores (MOVER), with the normal distribution beyond 95 %.
Scores of the same prompts and seeds are correlated, and their difference is rather surer.

References:
    Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, hypot, nan, sqrt

from t2i_core.results.result import Score
from t2i_core.statistics import holm

_QUANTILE = 1.959964
"""Standard errors in half the width of a 95 % interval."""


def compare_two(lower: Score, higher: Score) -> float:
    """Return the p-value of the difference of two scores; NaN if a score or an interval is missing."""
    end, start = lower.ci[1], higher.ci[0]
    if lower.value is None or higher.value is None or end is None or start is None:
        return nan
    return _find_p(higher.value - lower.value, hypot(end - lower.value, higher.value - start))


def compare_with_others(scores: Sequence[Score]) -> list[float]:
    """Return for each score the p-value of its being lower than the mean of the others; NaN without others."""
    known = [
        (score.value, low, high)
        for score in scores
        for low, high in [score.ci]
        if score.value is not None and low is not None and high is not None
    ]
    if len(known) < len(scores) or len(known) < 2:
        return [nan] * len(scores)
    n = len(known) - 1
    total = sum(value for value, *_ in known)
    below = sum((value - low) ** 2 for value, low, _ in known)
    return [
        _find_p((total - value) / n - value, hypot(high - value, sqrt(max(0.0, below - (value - low) ** 2)) / n))
        for value, low, high in known
    ]


def adjust(p_values: Sequence[float], factor: int = 1) -> list[float]:
    """Return p-values adjusted for their number (Holm), each of which is the smallest of `factor` tests."""
    return [float(p) for p in holm([min(1.0, p * factor) if p == p else p for p in p_values])]


def _find_p(difference: float, reach: float) -> float:
    """Return the two-sided p-value of a difference, given the reach of its interval towards 0."""
    if difference <= 0:
        return 1.0
    return erfc(difference / reach * _QUANTILE / sqrt(2)) if reach > 0 else nan
