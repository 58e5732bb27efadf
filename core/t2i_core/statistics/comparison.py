"""Comparisons of two models on the samples that both have."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy  # its `special` is imported when it is first used
from numpy.typing import ArrayLike

from .design import Crossing, Design, Floats, Question, TermVariance
from .estimate import Estimate, Range, check_level, check_range
from .means import estimate_mean, sample_and_design
from .resampling import Draws, Statistic, replicate


@dataclass(frozen=True)
class PairedDifference:
    """The difference a - b of two models, with its confidence interval and two-sided p-value.

    The fields that are not listed are those of `Estimate`.

    Attributes:
        diff: The difference, in the unit of the measure.
        p: p-value of the same t as the interval: it is below 1 - level exactly if the interval excludes 0. If the
            differences do not vary, p is that of the sign test over clusters. NaN if no test is possible.
        n: Number of shared rows.
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
    terms: tuple[TermVariance, ...] = ()


def make_comparison(estimate: Estimate, design: Design, n: int) -> PairedDifference:
    """Return an estimated difference of `n` shared rows with its p-value."""
    if estimate.df is not None and estimate.se:
        p = 2 * float(scipy.special.stdtr(estimate.df, -abs(estimate.value) / estimate.se))
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
        estimate.terms,
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
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
) -> PairedDifference:
    """Compare two models' means, a - b, on the samples that both have.

    The interval is plain t over clusters, cut at the differences that the range allows. The other arguments are
    those of `mean_interval`.

    Args:
        value_a: Values of the first model, shape (n,).
        value_b: Values of the second model for the same prompts and seeds in the same order, shape (n,). Leave out
            the samples that only one model has.
        low: Lower end of the range of the measure, not of the difference.
        high: Upper end of the same range.

    Returns:
        The difference with its interval and p-value.

    Raises:
        ValueError: If the shapes differ, or as `mean_interval` raises it.
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
    estimate = estimate_mean(sample, design, form="t", bounds=limit_difference(low, high), level=level)
    return make_comparison(estimate, design, len(sample.value))


def limit_difference(low: float | None, high: float | None) -> Range:
    """Return the range of the difference of two values that lie between `low` and `high`."""
    return (None, None) if low is None or high is None else (low - high, high - low)


def statistic_differences(
    statistic: Statistic,
    pairs: Iterable[tuple[str, str]],
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    interval: Question = "new",
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> dict[tuple[str, str], PairedDifference]:
    """Compare named values of one statistic under the same weights, for example two Elo ratings.

    All pairs share one set of rounds. The intervals are cut at the differences that the range allows. The other
    arguments are those of `statistic_intervals`.

    Args:
        pairs: Pairs (a, b) of names that the statistic returns.
        low: Lower end of the range of the values, not of their difference.
        high: Upper end of the same range.

    Returns:
        The difference a - b of each pair.

    Raises:
        ValueError: If the statistic does not return a name, or as `statistic_intervals` raises it.
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
    comparisons, bounds = {}, limit_difference(low, high)
    for a, b in pairs:

        def difference(draws: Draws, a: str = a, b: str = b) -> Floats:
            return draws[a] - draws[b]

        value = replicates.full[a] - replicates.full[b]
        estimate = replicates.estimate(value, difference, form="t", bounds=bounds, level=level)
        comparisons[a, b] = make_comparison(estimate, replicates.design, np.size(prompt))
    return comparisons


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values for their number, so that the chance of any false rejection is at most the level.

    Args:
        p_values: p-values in [0, 1], shape (n,). NaN (no test was possible) stays NaN and does not count.

    Returns:
        The adjusted values in the same order, float64 of shape (n,).

    Raises:
        ValueError: If a value lies outside [0, 1], or the array has another number of dimensions.

    References:
        S. Holm, A simple sequentially rejective multiple test procedure (1979).
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
