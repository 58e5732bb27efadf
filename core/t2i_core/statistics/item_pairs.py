"""Pairs of items that a metric and people compare: as people were shown them, or of items rated one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .design import Codes, Floats, encode_levels

MOST_PAIRS = 200_000
"""Items with more pairs are compared on a random sample of this many pairs."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of items, as a metric and people compare them; all arrays have shape (n,).

    Attributes:
        metric: The metric's value of the first item minus that of the second.
        people: The same difference of people's values. Only its sign counts; 0 is a tie.
        first: Code of the first item's cluster.
        second: Code of the second item's cluster.
    """

    metric: Floats
    people: Floats
    first: Codes
    second: Codes

    def __len__(self) -> int:
        return len(self.metric)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that occur."""
        return len(np.union1d(self.first, self.second))

    @property
    def within(self) -> bool:
        """True if both items of each pair are of one cluster."""
        return bool((self.first == self.second).all())

    def take(self, kept: NDArray[np.bool_]) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.metric[kept], self.people[kept], self.first[kept], self.second[kept])


@dataclass(frozen=True)
class PairCounts:
    """The numbers of pairs of each kind, in the terms of Deutsch et al.

    Attributes:
        concordant: Decided by both in the same way.
        discordant: Decided by both in opposite ways.
        tied_by_people: Tied by people alone.
        tied_by_metric: Tied by the metric alone.
        tied_by_both: Tied by both.
    """

    concordant: int
    discordant: int
    tied_by_people: int
    tied_by_metric: int
    tied_by_both: int


def make_pairs(metric: ArrayLike, people: ArrayLike, cluster: ArrayLike) -> Pairs:
    """Return pairs that people compared themselves.

    Args:
        metric: Differences of the metric's values, finite, shape (n,).
        people: Differences of people's values or preferences, finite, shape (n,).
        cluster: The cluster of each pair, labels of any hashable kind, shape (n,).

    Raises:
        ValueError: If shapes differ, or a value is not finite.
    """
    x, y, codes = _read_items(metric, people, cluster)
    return Pairs(x, y, codes, codes)


def pair_items(
    metric: ArrayLike,
    people: ArrayLike,
    cluster: ArrayLike,
    group: ArrayLike | None = None,
    *,
    most: int = MOST_PAIRS,
    rng_seed: int = 0,
) -> Pairs:
    """Return the pairs of items that were rated one by one.

    Args:
        metric: The metric's value of each item, finite, shape (n,).
        people: People's value of each item, finite, shape (n,).
        cluster: The cluster of each item, labels of any hashable kind, shape (n,).
        group: Only items of one group are paired, shape (n,). If None, all are.
        most: If there are more pairs, this many are drawn at random without replacement.
        rng_seed: Seed of the random numbers.

    Raises:
        ValueError: If shapes differ, or a value is not finite.
    """
    x, y, codes = _read_items(metric, people, cluster)
    groups = np.zeros(len(x), np.intp) if group is None else encode_levels(group, "group", len(x))[0]
    members = [np.flatnonzero(groups == each) for each in range(int(groups.max()) + 1 if len(x) else 0)]
    sizes = np.array([len(own) * (len(own) - 1) // 2 for own in members], dtype=np.intp)
    total = int(sizes.sum())
    if total > most:
        chosen = np.sort(np.random.default_rng(rng_seed).choice(total, most, replace=False))
    else:
        chosen = np.arange(total)
    ends = np.cumsum(sizes)
    where = np.searchsorted(ends, chosen, side="right")
    first, second = np.empty(len(chosen), np.intp), np.empty(len(chosen), np.intp)
    for number in np.unique(where):
        here, own = where == number, members[number]
        first[here], second[here] = (
            own[side] for side in _locate_pairs(chosen[here] - (ends - sizes)[number], len(own))
        )
    return Pairs(x[first] - x[second], y[first] - y[second], codes[first], codes[second])


def _locate_pairs(number: Codes, n: int) -> tuple[Codes, Codes]:
    """Return the two items of pairs that are numbered as `np.triu_indices(n, 1)` lists them."""
    starts = np.concatenate(([0], np.cumsum(np.arange(n - 1, 0, -1))))
    first = np.searchsorted(starts, number, side="right") - 1
    return first, first + 1 + number - starts[first]


def _read_items(metric: ArrayLike, people: ArrayLike, cluster: ArrayLike) -> tuple[Floats, Floats, Codes]:
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"metric and people must pair up in one dimension, got shapes {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("values must be finite: leave items without a value out")
    return x, y, encode_levels(cluster, "cluster", len(x))[0]


def count_pairs(pairs: Pairs, epsilon: float = 0.0) -> PairCounts:
    """Count the pairs of each kind. The metric ties the pairs whose values differ by `epsilon` or less."""
    by_people, by_metric = np.sign(pairs.people), np.sign(pairs.metric)
    by_metric[np.abs(pairs.metric) <= epsilon] = 0
    product = by_people * by_metric
    return PairCounts(
        int((product > 0).sum()),
        int((product < 0).sum()),
        int(((by_people == 0) & (by_metric != 0)).sum()),
        int(((by_people != 0) & (by_metric == 0)).sum()),
        int(((by_people == 0) & (by_metric == 0)).sum()),
    )
