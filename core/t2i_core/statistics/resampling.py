"""Confidence intervals for any smooth statistic of row weights, and the block jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
import scipy  # its `special` is imported when it is first used
from numpy.typing import ArrayLike

from .design import Crossing, Design, Floats, Question, Term, encode_levels, make_design
from .estimate import (
    NO_VARIATION,
    Estimate,
    Form,
    Range,
    check_level,
    check_range,
    estimate_constant,
    estimate_from_variance,
    estimate_without_interval,
)

Statistic = Callable[[Floats], Mapping[str, float]]

_MOST_WEIGHTS = 20_000
"""Number of weights that are in memory at a time, unless one round has more."""


def _term_weights(term: Term, rounds: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield row weights of mean one over clusters, one round at a time.

    Gamma weights with shape (G-2)/G, scaled within the G clusters of a stratum, give a mean exactly the usual
    unbiased variance, sum (z - mean z)^2 / (G (G-1)). Multinomial weights would give (G-1)/G of it and drop whole
    clusters, after which a rating may not exist.
    """
    # codes may leave gaps; number the clusters that occur
    distinct, codes = np.unique(term.codes, return_inverse=True)
    stratum = np.zeros(len(distinct), dtype=np.intp) if term.stratum is None else term.stratum[distinct]
    size = np.bincount(stratum)
    shape = ((size - 2) / size)[stratum]
    pairs = np.flatnonzero(size == 2)  # shape 0, the limit: one of the two takes all
    first = np.array([int(np.flatnonzero(stratum == pair)[0]) for pair in pairs], dtype=np.intp)
    last = np.array([int(np.flatnonzero(stratum == pair)[-1]) for pair in pairs], dtype=np.intp)
    at_once = max(1, _MOST_WEIGHTS // len(codes))  # several rounds take hardly longer than one
    for done in range(0, rounds, at_once):
        count = min(at_once, rounds - done)
        if len(pairs):
            weight = np.empty((count, len(distinct)))
            for row in weight:
                row[:] = rng.standard_gamma(shape)
                heads = rng.random(len(pairs)) < 0.5
                row[first], row[last] = heads, ~heads
        else:
            weight = rng.standard_gamma(shape, (count, len(distinct)))
        bins = stratum + len(size) * np.arange(count)[:, np.newaxis]
        total = np.bincount(bins.ravel(), weight.ravel(), len(size) * count).reshape(count, len(size))
        weight *= (size / total)[:, stratum]
        yield from np.take(weight, codes, axis=1)  # rows in one piece, unlike those of `weight[:, codes]`


def cluster_weights(cluster: ArrayLike, rounds: int = 1000, *, rng_seed: int = 0) -> Iterator[Floats]:
    """Yield vectors of row weights that resample clusters (a Bayesian bootstrap).

    The variance of a weighted mean over the rounds is, except for chance, the unbiased variance of the mean over
    clusters. The same `rng_seed` gives the same weights.

    Args:
        cluster: The cluster of each row, labels of any hashable kind, shape (n,).
        rounds: Number of vectors.
        rng_seed: Seed of the random numbers.

    Yields:
        Weights of shape (n,). Rows of one cluster share their weight; the weights of the clusters average one.

    Raises:
        ValueError: If there are fewer than two clusters.

    References:
        D. B. Rubin, The Bayesian bootstrap (1981), with the shape of the weights chosen to be unbiased.
    """
    labels = np.asarray(cluster)
    codes, groups = encode_levels(labels, "cluster", labels.size)
    if groups < 2:
        raise ValueError("one cluster cannot be resampled")
    return _term_weights(Term(codes, groups), rounds, np.random.default_rng(rng_seed))


Draws = Mapping[str, Floats]


@dataclass(frozen=True)
class Replicates:
    """A statistic's values under equal weights and under each round of reweighting.

    Attributes:
        full: The values by name, all weights one.
        draws: For each term of the design the values by name, shape (rounds,).
        design: The design.
    """

    full: Mapping[str, float]
    draws: tuple[Draws, ...]
    design: Design

    def estimate(
        self,
        value: float,
        of: Callable[[Draws], Floats],
        *,
        form: Form,
        bounds: Range,
        level: float,
        extra_variance: float = 0.0,
        most_df: float = math.inf,
    ) -> Estimate:
        """Return a value with its interval.

        Args:
            value: The value under equal weights. If it is not finite, it gets no interval.
            of: Computes the same value from the values of every round. If more than one round in ten gives no
                finite value, there is no interval.
            form: The form of the interval.
            bounds: The range of the value.
            level: The confidence level, in (0, 1).
            extra_variance: Addition to the variance.
            most_df: Limit of the degrees of freedom.
        """
        design = self.design
        if not math.isfinite(value):
            return estimate_without_interval(value, design, bounds=(None, None)).with_notes("it has no value")
        check_range(value, value, bounds)
        if not design.terms:
            return estimate_without_interval(value, design, bounds=bounds)
        draws = [of(draw) for draw in self.draws]
        finite = [draw[np.isfinite(draw)] for draw in draws]
        total, kept = sum(map(len, draws)), sum(map(len, finite))
        notes = (f"{total - kept} of {total} rounds gave no value",) if kept < total else ()
        if any(len(some) < 0.9 * len(every) for some, every in zip(finite, draws, strict=True)):
            return estimate_without_interval(value, design, bounds=(None, None)).with_notes(*notes)
        variances = [float(draw.var(ddof=1)) for draw in finite]
        variance, df = design.combine(variances)
        rounding = 1e-24 * max(1.0, value**2)
        if variance <= rounding:  # clusters that agree by accident, as in Design.variance
            variance = max(variances)
        if variance <= rounding:
            return estimate_constant(value, design, bounds=bounds, level=level).with_notes(*notes)
        variance, df = variance + extra_variance, min(df, most_df)
        estimate = estimate_from_variance(value, variance, df, design, form=form, bounds=bounds, level=level)
        method = f"{estimate.method}, reweighted {len(draws[0])} times"
        return replace(estimate, method=method, terms=design.name_variances(variances)).with_notes(*notes)


def replicate(
    statistic: Statistic,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    interval: Question,
    crossed: Crossing,
    strata: ArrayLike | None,
    rounds: int,
    rng_seed: int,
) -> Replicates:
    """Evaluate a statistic under each term's rounds of weights. See `statistic_intervals` for the arguments."""
    if rounds < 2:
        raise ValueError(f"rounds must be at least 2, got {rounds}")
    labels = np.asarray(prompt)
    design = make_design(labels, seed, labels.size, interval=interval, crossed=crossed, strata=strata)
    full = {name: float(value) for name, value in statistic(np.ones(labels.size)).items()}
    drawn = []
    for number, term in enumerate(design.terms):
        draws = {name: np.empty(rounds) for name in full}
        rng = np.random.default_rng((rng_seed, number))
        for i, weights in enumerate(_term_weights(term, rounds, rng)):
            values = statistic(weights)
            if values.keys() != full.keys():
                raise ValueError(f"the statistic's names changed from {sorted(full)} to {sorted(values)}")
            for name, value in values.items():
                draws[name][i] = value
        drawn.append(draws)
    return Replicates(full, tuple(drawn), design)


def statistic_intervals(
    statistic: Statistic,
    prompt: ArrayLike,
    seed: ArrayLike | None,
    *,
    interval: Question = "new",
    crossed: Crossing = True,
    strata: ArrayLike | None = None,
    ranges: Mapping[str, Range] | None = None,
    level: float = 0.95,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> dict[str, Estimate]:
    """Return the named values of a smooth statistic of row weights, each with its confidence interval.

    Prompts, seeds and cells are reweighted in turn, and the three variances combine as for a mean. Few weights are
    in memory at a time. For a plain mean `mean_interval` is exact and faster. A value gets no interval if it is
    not finite, or if more than a tenth of the rounds give no finite value. The other arguments are those of
    `mean_interval`.

    Args:
        statistic: Takes a weight of at least 0 for each row (float64 of shape (n,), mean one) and returns its
            values by name: always the same names, NaN if a value does not exist.
        ranges: The range (low, high) of values by name, either end None. With both, the interval is t on the logit
            scale.
        rounds: Number of reweightings of each kind, at least 2.
        rng_seed: Seed of the random numbers; the same seed gives the same intervals.

    Returns:
        The estimates by name.

    Raises:
        ValueError: If the names change, a range names an unknown value, `rounds` is below 2, or as `mean_interval`
            raises it.

    References:
        A. B. Owen, The pigeonhole bootstrap (2007), for the three terms, with the weights of `cluster_weights`.
    """
    check_level(level)
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
    unknown = set(ranges or ()) - replicates.full.keys()
    if unknown:
        raise ValueError(f"ranges for {sorted(unknown)}, which the statistic does not return")
    return {
        name: replicates.estimate(
            value,
            itemgetter(name),
            form="logit",
            bounds=(ranges or {}).get(name, (None, None)),
            level=level,
        )
        for name, value in replicates.full.items()
    }


def block_jackknife(
    full: float,
    leave_one_out: Sequence[float] | Floats,
    *,
    low: float | None = None,
    high: float | None = None,
    level: float = 0.95,
    question: str = "new images of this model",
) -> Estimate:
    """Return a statistic of a whole set of images with its interval, from its values without one block at a time.

    The interval is t with B - 1 degrees of freedom around `full`. The jackknife measures spread, not bias: FID's
    own bias with few images is not in the interval. If all values are equal, there is no interval, because the
    spread is unknown.

    Args:
        full: The value on all images.
        leave_one_out: The values without block 1..B, shape (B,), at least 2. Blocks hold about the same number of
            images; t2i uses 20.
        low: Lower end of the range at which the interval is cut.
        high: Upper end of the same range.
        level: The confidence level, in (0, 1).
        question: The question that the interval answers.

    Returns:
        The value with its interval.

    Raises:
        ValueError: If there are fewer than two blocks, or a value is not finite.

    References:
        J. W. Tukey, Bias and confidence in not-quite large samples (1958).
        B. Efron and C. Stein, The jackknife estimate of variance (1981).
    """
    check_level(level)
    values = np.asarray(leave_one_out, dtype=np.float64)
    blocks = values.size
    if values.ndim != 1 or blocks < 2:
        raise ValueError(f"need at least two blocks in one dimension, got shape {values.shape}")
    if not (np.isfinite(values).all() and math.isfinite(full)):
        raise ValueError("values must be finite")
    check_range(full, full, (low, high))
    se = math.sqrt((blocks - 1) * float(values.var()))
    if np.ptp(values) == 0:  # a share of all images, or of none: its variation is not 0, but unknown
        return Estimate(
            full, math.nan, math.nan, "none", question, blocks, notes=(f"{NO_VARIATION}: no interval",)
        )
    half = float(scipy.special.stdtrit(blocks - 1, 0.5 + level / 2)) * se
    lo, hi = full - half, full + half
    return Estimate(
        full,
        lo if low is None else max(lo, low),
        hi if high is None else min(hi, high),
        f"block jackknife ({blocks} blocks)",
        question,
        blocks,
        float(blocks - 1),
        se,
        (f"{blocks} blocks: with fewer than 10 the interval is rough",) if blocks < 10 else (),
    )
