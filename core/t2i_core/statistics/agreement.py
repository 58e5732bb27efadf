"""Agreement between raters: Cohen's and Fleiss' kappa, Krippendorff's alpha and phi, each with its interval.

Items are resampled, in clusters where they belong together. The raters are fixed, so the interval says nothing of
other raters; `krippendorff_alpha` and `fleiss_kappa` can resample them too. Intervals are t on the logit scale of
[-1, 1], which is Fisher's z. If all answers agree, no variance can be estimated, and the lower end is that of
Clopper and Pearson for the share of items with equal answers.

References:
    J. Cohen, A coefficient of agreement for nominal scales (1960).
    J. L. Fleiss, Measuring nominal scale agreement among many raters (1971).
    K. Krippendorff, Content analysis, 2nd edition (2004), chapter 11.
    K. Krippendorff, Computing Krippendorff's alpha-reliability (2011), for ordinal and interval answers.
    J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient (2004), for phi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import replace
from operator import itemgetter
from typing import Literal, get_args

import numpy as np

from .coded_answers import (
    ROUNDING,
    CodedAnswers,
    Coefficient,
    OfCounts,
    coefficient_of,
    compare_distance,
    compare_equal,
    compute_alpha,
    compute_fleiss,
    encode,
    read_coded_answers,
    sort_answers,
)
from .design import FEW, Codes, Design, Floats, Term
from .estimate import Estimate, check_level, estimate_from_variance
from .proportions import clopper_pearson
from .resampling import block_jackknife, replicate

Raters = Literal["fixed", "new"]
QUESTIONS: dict[Raters, str] = {
    "fixed": "new items of this kind, these raters",
    "new": "new items of this kind and new raters",
}
Measurement = Literal["nominal", "ordinal", "interval"]
"""Level of measurement of answers: which differences between two answers mean something."""

_ROUNDS = 1000

# two raters -----------------------------------------------------------------------------------------------------


def cohen_kappa(
    a: Iterable[Hashable],
    b: Iterable[Hashable],
    cluster: Iterable[Hashable] | None = None,
    *,
    weight: Iterable[float] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return Cohen's kappa of two raters' answers with its confidence interval.

    Args:
        a: The first rater's answer on each item, labels of any hashable kind, n of them.
        b: The second rater's answer on each item, n of them.
        cluster: The cluster of each item, such as its prompt. If None, each item is its own.
        weight: The weight of each item, above 0. If None, all weigh the same.
        level: The confidence level, in (0, 1).

    Returns:
        Kappa with its interval; all NaN if both raters always give the same answer, or without items.

    Raises:
        ValueError: If the lengths differ, or the level lies outside (0, 1).
    """
    return _estimate_pair(_compute_kappa, a, b, cluster, level, weight)


def phi(
    a: Iterable[Hashable],
    b: Iterable[Hashable],
    cluster: Iterable[Hashable] | None = None,
    *,
    level: float = 0.95,
) -> Estimate:
    """Return the phi coefficient of two raters' answers with its confidence interval.

    For more than two kinds of answer it is Gorodkin's R_K. The arguments and errors are those of `cohen_kappa`.

    Returns:
        Phi with its interval; all NaN if either rater always gives the same answer, or without items.
    """
    return _estimate_pair(_compute_phi, a, b, cluster, level)


def _compute_kappa(shares: Floats) -> Coefficient:
    expected = 1 - float((shares.sum(axis=0) * shares.sum(axis=1)).sum())
    observed = 1 - float(np.trace(shares))
    return (1 - observed / expected if expected > ROUNDING else math.nan), expected


def _compute_phi(shares: Floats) -> Coefficient:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float((rows * columns).sum())
    spreads = (1 - float(np.square(rows).sum())) * (1 - float(np.square(columns).sum()))
    value = (float(np.trace(shares)) - chance) / math.sqrt(spreads) if spreads > ROUNDING else math.nan
    return value, 1 - chance


def _estimate_pair(
    of: Callable[[Floats], Coefficient],
    a: Iterable[Hashable],
    b: Iterable[Hashable],
    cluster: Iterable[Hashable] | None,
    level: float,
    weight: Iterable[float] | None = None,
) -> Estimate:
    check_level(level)
    first, second = list(a), list(b)
    n = len(first)
    if len(second) != n:
        raise ValueError(f"a and b must pair up, got {n} and {len(second)} answers")
    items = np.arange(n) if cluster is None else encode(cluster)
    if len(items) != n:
        raise ValueError(f"cluster must have one label for each of {n} items, got {len(items)}")
    own = np.ones(n) if weight is None else np.array(list(weight), np.float64)
    if len(own) != n or not (np.isfinite(own).all() and (own > 0).all()):
        raise ValueError(f"weight must have one finite number above 0 for each of {n} items")
    codes = encode([*first, *second])
    answers = int(codes.max()) + 1 if n else 0

    def compute(weights: Floats) -> Coefficient:
        table = np.bincount(codes[:n] * answers + codes[n:], weights * own, answers**2).reshape(answers, answers)
        return of(table / table.sum())

    return _estimate_over_items(compute, items, level)


# any number of raters -------------------------------------------------------------------------------------------


def krippendorff_alpha(
    item: Iterable[Hashable],
    rater: Iterable[Hashable],
    answer: Iterable[Hashable],
    cluster: Iterable[Hashable] | None = None,
    *,
    excluded: Collection[Hashable] = (),
    measurement: Measurement = "nominal",
    raters: Raters = "fixed",
    weight: Iterable[float] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return Krippendorff's alpha of answers with its confidence interval.

    Raters may have answered on different items. Items with a single answer do not count.

    Args:
        item: The item of each answer, labels of any hashable kind, n of them.
        rater: The rater of each answer, at most one answer for each item and rater.
        answer: The answers.
        cluster: The cluster of each answer's item, such as its prompt. If None, each item is its own.
        excluded: Answers that count as missing, such as ties.
        measurement: The level of measurement. "nominal": two answers are equal or not. "ordinal": numbers of which
            only the order counts, as of a rating scale. "interval": numbers whose differences count.
        raters: "fixed" for an interval about these raters; "new" resamples them too, which takes at least three.
        weight: The weight of each answer's item, above 0, such as 1 over the probability with which it was drawn.
            If None, all items weigh the same.
        level: The confidence level, in (0, 1).

    Returns:
        Alpha with its interval; all NaN if no item has two answers, or if all answers are equal.

    Raises:
        ValueError: If the lengths differ, a rater answers twice on an item, an item lies in two clusters or has
            two weights, a weight is not above 0, `raters` or `measurement` is unknown, answers to be ordered are
            not finite numbers, or the level lies outside (0, 1).
    """
    if measurement not in get_args(Measurement):
        raise ValueError(f"measurement must be one of {', '.join(get_args(Measurement))}, got {measurement!r}")
    given = list(answer)
    answers = read_coded_answers(item, rater, given, cluster, excluded, weight)
    if measurement == "nominal":
        return _estimate_answers(compare_equal(compute_alpha), answers, raters, level)
    answers, values = sort_answers(answers, [each for each in given if each not in excluded])
    scale = values if measurement == "interval" else None
    return _estimate_answers(compare_distance(scale), answers, raters, level)


def fleiss_kappa(
    item: Iterable[Hashable],
    rater: Iterable[Hashable],
    answer: Iterable[Hashable],
    cluster: Iterable[Hashable] | None = None,
    *,
    raters: Raters = "fixed",
    weight: Iterable[float] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return Fleiss' kappa of answers with its confidence interval.

    The arguments are those of `krippendorff_alpha`, which also takes items with different numbers of answers.

    Returns:
        Kappa with its interval; all NaN if the items have one answer each, or if all answers are equal.

    Raises:
        ValueError: If items have different numbers of answers, or as `krippendorff_alpha` raises it.
    """
    answers = read_coded_answers(item, rater, answer, cluster, (), weight)
    if len(set(np.bincount(answers.item))) > 1:
        raise ValueError("items have different numbers of answers; use krippendorff_alpha")
    return _estimate_answers(compare_equal(compute_fleiss), answers, raters, level)


def _estimate_answers(of: OfCounts, answers: CodedAnswers, raters: Raters, level: float) -> Estimate:
    check_level(level)
    if raters not in QUESTIONS:
        raise ValueError(f"raters must be one of {', '.join(QUESTIONS)}, got {raters!r}")
    estimate = _estimate_over_items(*coefficient_of(of, answers), level)
    if raters == "fixed" or math.isnan(estimate.lo):
        return replace(estimate, question=QUESTIONS[raters])
    estimate = replace(estimate, question=QUESTIONS["new"])
    distinct = np.unique(answers.rater)
    without = []
    for one in distinct if len(distinct) > 2 else ():
        compute, items = coefficient_of(of, answers.take(answers.rater != one))
        without.append(compute(np.ones(len(items)))[0] if len(items) else math.nan)
    if not without or not np.isfinite(without).all():
        note = f"{len(distinct)} raters: too few to say what others would answer"
        return replace(estimate, lo=math.nan, hi=math.nan, method="none (too few raters)").with_notes(note)
    return _add_raters(estimate, without, level)


def _add_raters(estimate: Estimate, without: list[float], level: float) -> Estimate:
    """Widen an interval over items by the variance between raters, from the coefficients without each of them.

    Chance variation of single answers is in both variances and is not taken out again: the interval is wide rather
    than narrow.
    """
    se = block_jackknife(estimate.value, without).se or 0.0
    if se <= ROUNDING:
        return estimate
    items, n = (estimate.se or 0.0) ** 2, len(without)
    variance = items + se**2
    df = variance**2 / (items**2 / max(estimate.df or 1.0, 1.0) + se**4 / (n - 1))
    term = Term(np.arange(n), n)
    notes = (*estimate.notes, *((f"{n} raters: with fewer than {FEW} the interval is rough",) if n < FEW else ()))
    design = Design(QUESTIONS["new"], "items x raters", (term,), term, n, "raters", notes)
    found = estimate_from_variance(
        estimate.value, variance, df, design, form="logit", bounds=(-1.0, 1.0), level=level
    )
    return replace(found, n_clusters=min(n, estimate.n_clusters))


# intervals ------------------------------------------------------------------------------------------------------


def _estimate_over_items(compute: Callable[[Floats], Coefficient], cluster: Codes, level: float) -> Estimate:
    """Return a coefficient with its interval over clusters of items.

    Args:
        compute: Takes one weight for each item and returns the coefficient.
        cluster: The cluster of each item.
        level: The confidence level, in (0, 1).
    """
    question, clusters = QUESTIONS["fixed"], len(np.unique(cluster))
    if not clusters:
        return Estimate(math.nan, math.nan, math.nan, "none (no items)", question, 0)
    value, expected = compute(np.ones(len(cluster)))
    if math.isnan(value):
        return Estimate(
            math.nan, math.nan, math.nan, "none (no value)", question, clusters, notes=("all answers are equal",)
        )
    value = min(max(value, -1.0), 1.0)
    notes = (f"{clusters} items: with fewer than {FEW} the interval is rough",) if clusters < FEW else ()
    if value > 1 - ROUNDING:
        return _estimate_perfect(expected, clusters, notes, level)
    replicates = replicate(
        lambda weights: {"value": compute(weights)[0]},
        cluster,
        None,
        interval="new",
        crossed=False,
        strata=None,
        rounds=_ROUNDS,
        rng_seed=0,
    )
    design = replace(
        replicates.design, question=question, clusters="items", trials=clusters, trial_name="items", notes=notes
    )
    return replace(replicates, design=design).estimate(
        value, itemgetter("value"), form="logit", bounds=(-1.0, 1.0), level=level
    )


def _estimate_perfect(expected: float, clusters: int, notes: tuple[str, ...], level: float) -> Estimate:
    """Return 1 with a lower end by Clopper and Pearson: each item agrees in full or not at all."""
    disagreeing = 1 - clopper_pearson(clusters, clusters, level)[0]
    return Estimate(
        1.0,
        max(-1.0, 1 - disagreeing / expected),
        1.0,
        f"Clopper-Pearson, n = {clusters} items",
        QUESTIONS["fixed"],
        clusters,
        notes=(*notes, f"all answers agree: each of {clusters} items counts as one trial"),
    )
