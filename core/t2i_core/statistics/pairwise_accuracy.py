"""Pairwise accuracy of a metric beside people's preferences or ratings, with ties, and Kendall's tau-b over pairs.

Pairs of one cluster (a prompt) are not independent, so whole clusters are left out in turn: without a cluster all
pairs go in which it has an item. People are fixed.

References:
    D. Deutsch, G. Foster and M. Freitag, Ties matter: meta-evaluating modern metrics with pairwise accuracy and
    tie calibration (2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike

from .correlation import FEWEST
from .design import Floats, make_design
from .estimate import (
    Estimate,
    Range,
    check_level,
    estimate_constant,
    estimate_from_variance,
    estimate_without_interval,
)
from .item_pairs import Pairs
from .means import mean_interval

QUESTION = "new prompts of this kind, these people"
"""The question that the intervals answer."""
FOLDS = 5
"""Number of folds of clusters in which epsilon is chosen without the pairs that it is tried on."""

_ROUNDING = 1e-24


def pairwise_accuracy(pairs: Pairs, *, level: float = 0.95) -> Estimate:
    """Return the accuracy on the pairs that people decided, without their ties, in [0, 1].

    Where the metric ties, it is right half the time, so chance is 0.5.

    Args:
        pairs: The pairs.
        level: The confidence level, in (0, 1).
    """
    decided = pairs.take(pairs.people != 0)
    return _estimate_share(decided, (np.sign(decided.metric) * np.sign(decided.people) + 1) / 2, level)


def choose_epsilon(pairs: Pairs) -> float:
    """Return the epsilon with the highest accuracy with ties; the smallest, if several have it.

    The metric ties a pair whose values differ by epsilon or less. Candidates are 0 and all differences.

    Raises:
        ValueError: If there are no pairs.
    """
    if not len(pairs):
        raise ValueError("no pairs: nothing to choose epsilon from")
    size = np.abs(pairs.metric)
    order = np.argsort(size, kind="stable")
    tied = (pairs.people == 0)[order]
    right = (pairs.metric * np.sign(pairs.people) > 0)[order]
    size = size[order]
    last = np.append(size[1:] > size[:-1], True)  # candidates: the last of equal differences
    gain = np.cumsum(tied.astype(np.intp) - right)[last]
    candidates = size[last]
    if candidates[0] > 0:
        candidates, gain = np.insert(candidates, 0, 0.0), np.insert(gain, 0, 0)
    return float(candidates[np.argmax(gain)])


def accuracy_with_ties(pairs: Pairs, *, level: float = 0.95, rng_seed: int = 0) -> Estimate:
    """Return the tie-calibrated accuracy acc_eq in [0, 1]: a pair that people tie is right if the metric ties it.

    Epsilon is cross-validated: clusters form five folds, and each pair is tried with the epsilon that is best on
    the pairs with no item in its folds. The interval takes these as given; a note has the epsilon of all pairs.

    Args:
        pairs: The pairs.
        level: The confidence level, in (0, 1).
        rng_seed: Seed of the folds.
    """
    clusters = np.union1d(pairs.first, pairs.second)
    folds = min(FOLDS, len(clusters))
    if folds < 3:
        note = "fewer than 3 prompts: epsilon cannot be cross-validated"
        return Estimate(math.nan, math.nan, math.nan, "none", QUESTION, len(clusters), notes=(note,))
    fold = np.zeros(int(clusters.max()) + 1, np.intp)
    fold[clusters] = np.random.default_rng(rng_seed).permutation(np.arange(len(clusters)) % folds)
    first, second = fold[pairs.first], fold[pairs.second]
    right = np.zeros(len(pairs))
    for one, other in combinations_with_replacement(range(folds), 2):
        tried = ((first == one) & (second == other)) | ((first == other) & (second == one))
        if not tried.any():
            continue
        known = ~np.isin(first, (one, other)) & ~np.isin(second, (one, other))
        epsilon = choose_epsilon(pairs.take(known)) if known.any() else 0.0
        right[tried] = _judge_with_ties(pairs.take(tried), epsilon)
    chosen = choose_epsilon(pairs)
    return _estimate_share(pairs, right, level).with_notes(f"epsilon {chosen:.3g} (best on all pairs)")


def _judge_with_ties(pairs: Pairs, epsilon: float) -> Floats:
    by_metric = np.where(np.abs(pairs.metric) <= epsilon, 0.0, np.sign(pairs.metric))
    right: Floats = (by_metric == np.sign(pairs.people)).astype(np.float64)
    return right


def kendall_tau_b(pairs: Pairs, *, level: float = 0.95) -> Estimate:
    """Return Kendall's tau-b over pairs in [-1, 1], with its interval over clusters; none below 5 clusters.

    Over all pairs of items this is the coefficient of `kendall`. NaN if either side ties all pairs.
    """
    by_people, by_metric = np.sign(pairs.people), np.sign(pairs.metric)
    columns = np.stack((by_people * by_metric, np.abs(by_people), np.abs(by_metric)))

    def compute(sums: Floats) -> float:
        spread = sums[1] * sums[2]
        return min(max(float(sums[0] / math.sqrt(spread)), -1.0), 1.0) if spread > 0 else math.nan

    found = _estimate_sums(pairs, columns, compute, (-1.0, 1.0), level)
    if found.n_clusters >= FEWEST:
        return found
    return replace(found, lo=math.nan, hi=math.nan, method=f"none (fewer than {FEWEST} prompts)")


# intervals ------------------------------------------------------------------------------------------------------


def _estimate_share(pairs: Pairs, right: Floats, level: float) -> Estimate:
    """Return the mean of a number in [0, 1] for each pair, with its interval over clusters."""
    check_level(level)
    if not len(pairs):
        return Estimate(math.nan, math.nan, math.nan, "none (no pairs)", QUESTION, 0)
    if pairs.within:
        return replace(mean_interval(right, pairs.first, None, low=0, high=1, level=level), question=QUESTION)

    def compute(sums: Floats) -> float:
        return float(sums[0] / sums[1]) if sums[1] > 0 else math.nan

    return _estimate_sums(pairs, np.stack((right, np.ones(len(right)))), compute, (0.0, 1.0), level)


def _estimate_sums(
    pairs: Pairs, columns: Floats, compute: Callable[[Floats], float], bounds: Range, level: float
) -> Estimate:
    """Return a function of weighted sums over pairs, with its interval over clusters.

    Args:
        pairs: The pairs.
        columns: What is summed, shape (k, number of pairs).
        compute: Takes the k sums.
        bounds: The range of the function.
        level: The confidence level, in (0, 1).
    """
    check_level(level)
    if not len(pairs):
        return Estimate(math.nan, math.nan, math.nan, "none (no pairs)", QUESTION, 0)
    clusters, codes = np.unique(np.concatenate((pairs.first, pairs.second)), return_inverse=True)
    n, ends = len(clusters), np.sort(codes.reshape(2, -1), axis=0)
    cells, cell = np.unique(ends[0] * n + ends[1], return_inverse=True)
    sums = np.stack([np.bincount(cell, column, len(cells)) for column in columns])
    first, second = cells // n, cells % n

    def statistic(weights: Floats) -> float:
        # no dot products: BLAS starts threads for those, which wait on a busy machine
        return compute((sums * (weights[first] * weights[second])).sum(axis=1))

    return estimate_by_clusters(statistic, np.arange(n), bounds, level)


def estimate_by_clusters(
    statistic: Callable[[Floats], float], cluster: ArrayLike, bounds: Range, level: float
) -> Estimate:
    """Return a statistic of row weights with its interval, from its values without one cluster at a time.

    The interval is t on the logit scale of the range (Fisher's z on [-1, 1]) with the jackknife's variance.

    Args:
        statistic: Takes a weight of 0 or 1 for each row; NaN if the value does not exist.
        cluster: The cluster of each row.
        bounds: The range of the statistic.
        level: The confidence level, in (0, 1).

    References:
        J. N. Arvesen, Jackknifing U-statistics (1969).
    """
    labels = np.asarray(cluster)
    design = make_design(labels, None, labels.size, interval="new", crossed=False)
    design = replace(design, question=QUESTION)
    value = statistic(np.ones(labels.size))
    if not math.isfinite(value):
        return estimate_without_interval(value, design, bounds=(None, None)).with_notes("it has no value")
    if not design.terms:
        return estimate_without_interval(value, design, bounds=bounds)
    codes, clusters = design.terms[0].codes, design.n_clusters
    without = np.array([statistic((codes != each).astype(np.float64)) for each in range(clusters)])
    without = without[np.isfinite(without)]
    if len(without) < 0.9 * clusters:
        note = f"without one of {clusters - len(without)} prompts it has no value"
        return estimate_without_interval(value, design, bounds=(None, None)).with_notes(note)
    variance = (len(without) - 1) * float(without.var())
    if variance <= _ROUNDING:
        return estimate_constant(value, design, bounds=bounds, level=level)
    found = estimate_from_variance(value, variance, clusters - 1, design, form="logit", bounds=bounds, level=level)
    return replace(found, method=f"{found.method}, jackknife")
