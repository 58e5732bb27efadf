"""Two models compared on what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from .design import Design, Floats, Question
from .estimate import Estimate, Range, check_level, check_range
from .means import estimate_mean, sample_and_design
from .resampling import Draws, Statistic, replicate


@dataclass(frozen=True)
class PairedDifference:
    """A difference a - b with its interval and two-sided p.

    ``n`` is the number of shared rows. ``p`` comes from the same t as the interval: it is under 1 - level
    where the interval leaves 0 out, and only there. Where the differences do not vary, p is that of the sign
    test over clusters. NaN means that no interval, or no test, can be formed. The other fields are those of
    :class:`t2i_core.statistics.Estimate`.
    """

    diff: float
    lo: float
    hi: float
    p: float
    n: int
    method: str
    question: str
    n_clusters: int
    df: float | None = None
    se: float | None = None
    notes: tuple[str, ...] = ()


def _comparison(estimate: Estimate, design: Design, n: int) -> PairedDifference:
    if estimate.df is not None and estimate.se:
        p = 2 * float(stdtr(estimate.df, -abs(estimate.value) / estimate.se))
    elif not design.terms or math.isnan(estimate.lo):
        p = math.nan
    else:
        p = 1.0 if estimate.value == 0 else 2.0 ** (1 - design.trials)
    return PairedDifference(
        estimate.value,
        estimate.lo,
        estimate.hi,
        p,
        n,
        f"paired, {estimate.method}",
        estimate.question,
        estimate.n_clusters,
        estimate.df,
        estimate.se,
        estimate.notes,
    )


def paired_difference(
    value_a: ArrayLike,
    value_b: ArrayLike,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    weights: ArrayLike | None = None,
    interval: Question = "new",
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    crossed: bool = True,
    strata: ArrayLike | None = None,
) -> PairedDifference:
    """Compare two models' means, a - b, on the samples that both have.

    Row i of ``value_a`` and ``value_b`` is the same prompt and seed measured for either model; leave out what
    only one of them has. The other arguments, and the errors, are those of
    :func:`t2i_core.statistics.mean_interval`; ``low`` and ``high`` are the range of the measure, not of the
    difference. The interval is plain t over the same clusters, cut at what the range allows.
    """
    check_level(level)
    a, b = np.asarray(value_a, dtype=np.float64), np.asarray(value_b, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"value_a and value_b must pair up, got shapes {a.shape} and {b.shape}")
    sample, design = sample_and_design(a - b, weights, prompt, seed, strata, interval=interval, crossed=crossed)
    both = np.concatenate([a, b])
    if (low, high) == (None, None) and ((both == 0) | (both == 1)).all():
        low, high = 0.0, 1.0
    check_range(float(both.min()), float(both.max()), (low, high))
    bounds: Range = (None, None) if low is None or high is None else (low - high, high - low)
    estimate = estimate_mean(sample, design, form="t", bounds=bounds, level=level)
    return _comparison(estimate, design, len(sample.value))


def statistic_differences(
    statistic: Statistic,
    pairs: Iterable[tuple[str, str]],
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    interval: Question = "new",
    crossed: bool = True,
    strata: ArrayLike | None = None,
    level: float = 0.95,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> dict[tuple[str, str], PairedDifference]:
    """Compare named values of one statistic under the same weights, for example two Elo ratings.

    For each pair of names (a, b) the difference a - b. The other arguments, and the errors, are those of
    :func:`t2i_core.statistics.statistic_intervals`; a pair that the statistic does not return raises
    ValueError. All pairs share one set of rounds.
    """
    check_level(level)
    pairs = list(pairs)
    replicates = replicate(
        statistic,
        prompt,
        seed,
        interval=interval,
        crossed=crossed,
        strata=strata,
        rounds=rounds,
        rng_seed=rng_seed,
    )
    unknown = {name for pair in pairs for name in pair} - replicates.full.keys()
    if unknown:
        raise ValueError(f"the statistic returns no {sorted(unknown)}")
    comparisons = {}
    for a, b in pairs:

        def difference(draws: Draws, a: str = a, b: str = b) -> Floats:
            return draws[a] - draws[b]

        value = replicates.full[a] - replicates.full[b]
        estimate = replicates.estimate(value, difference, form="t", bounds=(None, None), level=level)
        comparisons[a, b] = _comparison(estimate, replicates.design, np.size(prompt))
    return comparisons


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values for their number, so that all of them together err at most at the level.

    ``p_values`` in one dimension; NaN (no test was possible) stays NaN and does not count. Returns the
    adjusted values in the same order. Raises ValueError for values outside [0, 1].

    Source: S. Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise ValueError("p-values must lie in [0, 1], in one dimension")
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted
