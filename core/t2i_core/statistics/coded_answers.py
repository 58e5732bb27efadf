"""Answers of several raters as counts by item, and the coefficients of agreement computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from .design import Codes, Floats

ROUNDING = 1e-12

Coefficient = tuple[float, float]
"""A coefficient (NaN if it does not exist) and the disagreement that chance would give, in [0, 1]."""


def encode(labels: Iterable[Hashable]) -> Codes:
    """Number labels of any hashable kind in the order in which they occur."""
    codes: dict[Hashable, int] = {}
    return np.array([codes.setdefault(label, len(codes)) for label in labels], dtype=np.intp)


@dataclass(frozen=True)
class CodedAnswers:
    """Answers as codes from 0, and the weight of each answer's item, each of shape (n,)."""

    item: Codes
    rater: Codes
    answer: Codes
    cluster: Codes
    weight: Floats

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> CodedAnswers:
        """Return some of the answers, their items numbered anew."""
        rater, answer, cluster = (column[rows] for column in (self.rater, self.answer, self.cluster))
        return CodedAnswers(encode(self.item[rows]), rater, answer, cluster, self.weight[rows])


def read_coded_answers(
    item: Iterable[Hashable],
    rater: Iterable[Hashable],
    answer: Iterable[Hashable],
    cluster: Iterable[Hashable] | None,
    excluded: Collection[Hashable],
    weight: Iterable[float] | None = None,
) -> CodedAnswers:
    """Return answers as codes, without those that count as missing.

    Args:
        item: The item of each answer, n of them.
        rater: The rater of each answer.
        answer: The answers.
        cluster: The cluster of each answer's item. If None, each item is its own.
        excluded: Answers that count as missing.
        weight: The weight of each answer's item. If None, all weigh the same.

    Raises:
        ValueError: If the lengths differ, a rater answers twice on an item, an item lies in two clusters or has
            two weights, or a weight is not a number above 0.
    """
    items = list(item)
    columns = {"item": items, "rater": list(rater), "answer": list(answer)}
    columns["cluster"] = items if cluster is None else list(cluster)
    columns["weight"] = [1.0] * len(items) if weight is None else list(weight)
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
        raise ValueError(f"every answer needs its item, rater and cluster, got {lengths}")
    kept = [i for i, given in enumerate(columns["answer"]) if given not in excluded]
    weights = np.array([columns["weight"][i] for i in kept], np.float64)
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError("weights must be finite numbers above 0")
    codes = {name: encode(column[i] for i in kept) for name, column in columns.items() if name != "weight"}
    found = CodedAnswers(**codes, weight=weights)
    if len(set(zip(found.item, found.rater, strict=True))) < len(kept):
        raise ValueError("a rater answers twice on one item")
    if len(set(zip(found.item, found.cluster, strict=True))) > len(set(found.item)):
        raise ValueError("an item lies in more than one cluster")
    if len(set(zip(found.item, found.weight, strict=True))) > len(set(found.item)):
        raise ValueError("an item has more than one weight")
    return found


def sort_answers(answers: CodedAnswers, given: list[Hashable]) -> tuple[CodedAnswers, Floats]:
    """Return the answers with codes in the order of their values, and the value of each code.

    Raises:
        ValueError: If an answer is not a finite number.
    """
    try:
        numbers = np.array([float(each) for each in given], np.float64)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ValueError(f"ordinal and interval answers must be numbers ({error})") from None
    if not np.isfinite(numbers).all():
        raise ValueError("ordinal and interval answers must be finite numbers")
    values, codes = np.unique(numbers, return_inverse=True)
    return replace(answers, answer=codes.astype(np.intp)), values


OfCounts = Callable[[Floats], Callable[[Floats], Coefficient]]
"""Takes how often each item has each answer, shape (items, kinds), and returns a coefficient as a function of the
items' weights."""


def compare_equal(of: Callable[[float, Floats], Coefficient]) -> OfCounts:
    """Return a coefficient in which two answers agree if they are equal.

    Args:
        of: Takes the observed agreement and the weighted number of each answer.
    """

    def prepare(counts: Floats) -> Callable[[Floats], Coefficient]:
        size = counts.sum(axis=1)
        # the pairs of equal answers among all pairs of an item, times its number of answers
        agreed = (np.square(counts).sum(axis=1) - size) / np.maximum(size - 1, 1)

        def compute(weights: Floats) -> Coefficient:
            # no dot products: BLAS starts threads for those, which wait on a busy machine
            weighted = (counts * weights[:, None]).sum(axis=0)
            return of(float((agreed * weights).sum()) / float(weighted.sum()), weighted)

        return compute

    return prepare


def compare_distance(values: Floats | None) -> OfCounts:
    """Return alpha in which two answers disagree by the square of their distance.

    Args:
        values: The value of each answer, ascending. None for ordinal answers: then it is the mean rank among all
            answers of the items, so that the distance counts the answers in between.
    """

    def prepare(counts: Floats) -> Callable[[Floats], Coefficient]:
        size = counts.sum(axis=1)

        def compute(weights: Floats) -> Coefficient:
            weighted = (counts * weights[:, None]).sum(axis=0)
            n = float(weighted.sum())
            scale = np.cumsum(weighted) - weighted / 2 if values is None else values[: counts.shape[1]]
            scale = scale - scale[0]
            # the sum of squared differences over all ordered pairs of n numbers is 2 (n x sum of squares - sum^2)
            sums, squares = (counts * scale).sum(axis=1), (counts * np.square(scale)).sum(axis=1)
            apart = 2 * (size * squares - np.square(sums)) / np.maximum(size - 1, 1)
            observed = float((apart * weights).sum()) / n
            total = float((weighted * scale).sum())
            spread = 2 * (n * float((weighted * np.square(scale)).sum()) - total**2)
            expected = spread / (n * (n - 1)) if n > 1 else 0.0
            present = scale[weighted > 0]
            largest = float(np.square(present[-1] - present[0])) if len(present) else 0.0
            if expected <= ROUNDING * max(largest, 1.0):
                return math.nan, 0.0
            return 1 - observed / expected, expected / largest

        return compute

    return prepare


def coefficient_of(of: OfCounts, answers: CodedAnswers) -> tuple[Callable[[Floats], Coefficient], Codes]:
    """Return a coefficient as a function of items' weights, and the cluster of each item with two answers."""
    size = np.bincount(answers.item)
    answers = answers.take((size > 1)[answers.item]) if len(size) else answers
    items = int(answers.item.max()) + 1 if len(answers.item) else 0
    kinds = int(answers.answer.max()) + 1 if items else 0
    counts = np.bincount(answers.item * kinds + answers.answer, minlength=items * kinds).reshape(items, kinds)
    cluster = np.zeros(items, dtype=np.intp)
    cluster[answers.item] = answers.cluster
    own = np.ones(items)
    own[answers.item] = answers.weight
    own /= max(own.mean(), ROUNDING) if items else 1.0  # so that the number of answers stays what it is
    compute = of(counts.astype(np.float64))
    return lambda weights: compute(weights * own), cluster


def compute_alpha(agreement: float, counts: Floats) -> Coefficient:
    """Return Krippendorff's nominal alpha.

    Args:
        agreement: The observed agreement, in [0, 1].
        counts: The weighted number of each answer, shape (kinds,).
    """
    n = float(counts.sum())
    expected = (n**2 - float(np.square(counts).sum())) / (n * (n - 1)) if n > 1 else 0.0
    return (1 - (1 - agreement) / expected if expected > ROUNDING else math.nan), expected


def compute_fleiss(agreement: float, counts: Floats) -> Coefficient:
    """Return Fleiss' kappa; the arguments are those of `compute_alpha`."""
    expected = 1 - float(np.square(counts / counts.sum()).sum())
    return (1 - (1 - agreement) / expected if expected > ROUNDING else math.nan), expected
