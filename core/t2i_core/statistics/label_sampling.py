"""Choice of rows for people to label: draws with known probabilities, and where the next labels help most."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .design import Codes, Floats, encode_levels
from .label_design import Mask, make_label_design
from .power_tuning import tune_power

STREAM = 20230119


@dataclass(frozen=True)
class LabelDraw:
    """Rows drawn at random for labels.

    Attributes:
        rows: Indices of the drawn rows, ascending, shape (m,).
        probability: The probability with which each of all rows is among those drawn until now, shape (n,).
    """

    rows: Codes
    probability: Floats


@dataclass(frozen=True)
class LabelAllocation:
    """Return the number of the next labels for each stratum.

    Attributes:
        strata: The strata, in the order of their first rows.
        n_rows: Number of rows in each stratum, shape (H,).
        n_labels: Number of labels that each stratum has, shape (H,).
        sd: Estimated standard deviation of people's value minus the judge's (as far as it is trusted) in each
            stratum, shape (H,); NaN where nobody labelled.
        gain: How much one more label lowers the variance of the mean of the stratum's group, in the unit of the
            measure squared, shape (H,). Infinite for strata with fewer than two labels, 0 for those labelled
            entirely.
        next_labels: Number of the next labels for each stratum, shape (H,).
    """

    strata: tuple[Hashable, ...]
    n_rows: Codes
    n_labels: Codes
    sd: Floats
    gain: Floats
    next_labels: Codes

    @property
    def probability(self) -> Floats:
        """The probability with which a row of each stratum is then labelled, shape (H,)."""
        return np.asarray((self.n_labels + self.next_labels) / self.n_rows)

    @property
    def sizes(self) -> dict[Hashable, int]:
        """Number of the next labels by stratum, as `draw_labels` takes it."""
        return dict(zip(self.strata, map(int, self.next_labels), strict=True))


def draw_labels(
    n_rows: int,
    size: int | Mapping[Hashable, int],
    *,
    strata: ArrayLike | None = None,
    labelled: ArrayLike | None = None,
    rng_seed: int = 0,
) -> LabelDraw:
    """Draw rows at random, without replacement.

    Args:
        n_rows: Number of rows.
        size: Number of rows to draw: from all, or from each stratum by name. A number with `strata` is divided
            equally among the strata, as far as they have rows.
        strata: The stratum of each row, labels of any hashable kind, shape (n,).
        labelled: True for rows that were drawn earlier in the same way, shape (n,); they are not drawn again.
        rng_seed: Seed of the random numbers; the same seed draws the same rows.

    Returns:
        The drawn rows, and the probability of every row to be drawn now or earlier.

    Raises:
        ValueError: If a stratum has too few rows left, a size is negative or names an unknown stratum, or a shape
            differs.
    """
    if strata is None and not isinstance(size, int):
        raise ValueError("sizes by stratum need strata")
    labels = np.zeros(n_rows, dtype=np.intp) if strata is None else np.asarray(strata)
    codes, _ = encode_levels(labels, "strata", n_rows)
    names = list(pd.unique(labels))
    before = np.zeros(n_rows, dtype=np.bool_) if labelled is None else np.asarray(labelled, dtype=np.bool_)
    if before.shape != (n_rows,):
        raise ValueError(f"labelled must have shape ({n_rows},), got {before.shape}")
    left = np.bincount(codes, ~before, minlength=len(names)).astype(np.intp)
    if isinstance(size, int):
        sizes = _divide_equally(size, left)
    else:
        if unknown := set(size) - set(names):
            raise ValueError(f"no rows in the strata {sorted(map(str, unknown))}")
        sizes = np.array([size.get(name, 0) for name in names], dtype=np.intp)
    if (sizes < 0).any() or (sizes > left).any():
        raise ValueError(f"cannot draw {sizes.tolist()} rows from strata with {left.tolist()} rows left")
    # its own stream: data that the caller drew with the same seed must not decide who is drawn
    order = np.random.default_rng((rng_seed, STREAM)).permutation(n_rows)
    drawn = [order[(codes[order] == h) & ~before[order]][:k] for h, k in enumerate(sizes)]
    total = np.bincount(codes, minlength=len(names))
    probability = ((total - left + sizes) / total)[codes]
    return LabelDraw(np.sort(np.concatenate(drawn)).astype(np.intp), probability)


def draw_cells(
    prompt: ArrayLike,
    seed: ArrayLike,
    size: int | Mapping[Hashable, int],
    *,
    strata: ArrayLike | None = None,
    labelled: ArrayLike | None = None,
    rng_seed: int = 0,
) -> LabelDraw:
    """Draw whole (prompt, seed) cells, with all their rows, so that people see every model's image of a cell.

    The other arguments are those of `draw_labels`; sizes count cells. Rows of one cell must share their stratum,
    and all of them count as drawn earlier if one was.

    Args:
        prompt: The prompt of each row, shape (n,).
        seed: The seed of each row, shape (n,).

    Raises:
        ValueError: If a cell lies in two strata, or as `draw_labels` raises it.
    """
    prompts, _ = encode_levels(prompt, "prompt", np.size(prompt))
    seeds, n_seeds = encode_levels(seed, "seed", len(prompts))
    cells = pd.factorize(prompts * n_seeds + seeds)[0]
    first = np.unique(cells, return_index=True)[1]
    of_cell = None
    if strata is not None:
        codes, _ = encode_levels(strata, "strata", len(cells))
        if (codes[first][cells] != codes).any():
            raise ValueError("a (prompt, seed) cell lies in more than one stratum")
        of_cell = np.asarray(strata)[first]
    before = None if labelled is None else np.bincount(cells, np.asarray(labelled, dtype=np.bool_)) > 0
    draw = draw_labels(len(first), size, strata=of_cell, labelled=before, rng_seed=rng_seed)
    return LabelDraw(np.flatnonzero(np.isin(cells, draw.rows)), draw.probability[cells])


def _divide_equally(size: int, left: Codes) -> Codes:
    """Divide a number among strata, equally as far as they have rows left."""
    if not 0 <= size <= left.sum():
        raise ValueError(f"cannot draw {size} rows: {left.sum()} are left")
    sizes = np.zeros_like(left)
    while (rest := size - int(sizes.sum())) > 0:
        open_strata = np.flatnonzero(sizes < left)
        share = max(rest // len(open_strata), 1)
        chosen = open_strata[:rest]
        sizes[chosen] = np.minimum(sizes[chosen] + share, left[chosen])
    return sizes


def allocate_labels(
    judged: ArrayLike,
    labels: ArrayLike,
    strata: ArrayLike,
    size: int,
    *,
    group: ArrayLike | None = None,
) -> LabelAllocation:
    """Divide the next labels among strata so that the intervals of the groups' means gain most.

    The next label of a stratum with k labels lowers the variance of its group's mean by (rows / rows of the
    group)^2 sd^2 / (k (k + 1)). The labels are given one by one where that is largest, which is exact for whole
    numbers and tends to Neyman's allocation. The sd of a stratum with few labels is drawn toward that of all, so
    a stratum where people never disagreed with the judge gets labels too. A stratum that nobody labelled counts
    as much as the average of the others; at first all get the same number.

    Args:
        judged: The judge's value of each row, shape (n,).
        labels: People's value of each row, NaN where nobody labelled it, shape (n,).
        strata: The stratum of each row, shape (n,), usually model and judge's outcome.
        size: Number of labels to divide, at most the number of rows without one.
        group: The part of each row that has its own mean, usually the model, shape (n,); strata lie within
            groups. If None, all rows have one mean.

    Returns:
        The allocation. Draw the rows by `draw_labels(n, allocation.sizes, strata=strata, labelled=...)`.

    Raises:
        ValueError: If a stratum lies in two groups, there are fewer rows than `size` without a label, or a shape
            differs.

    References:
        J. Neyman, On the two different aspects of the representative method (1934).
        T. Wright, The equivalence of Neyman optimum allocation for sampling and equal proportions for apportioning
        the U.S. House of Representatives (2012), for whole numbers.
    """
    f, y = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    codes, count = encode_levels(strata, "strata", len(f))
    groups = np.zeros(len(f), dtype=np.intp) if group is None else encode_levels(group, "group", len(f))[0]
    first = np.unique(codes, return_index=True)[1]
    if y.shape != f.shape or (groups[first][codes] != groups).any():
        raise ValueError("labels must have one value for each row, and a stratum must lie within one group")
    known = ~np.isnan(y)
    n_rows, n_labels = np.bincount(codes), np.bincount(codes, known, minlength=count).astype(np.intp)
    if not 0 <= size <= n_rows.sum() - n_labels.sum():
        raise ValueError(f"cannot label {size} more rows: {n_rows.sum() - n_labels.sum()} are left")
    share = n_rows / np.bincount(groups)[groups[first]]
    sd = _spread(f, y, known, codes, n_labels)
    reach = share * sd  # what a stratum contributes to its group's standard error, times the root of its labels
    reach[n_labels == 0] = reach[n_labels > 0].mean() if known.any() else 1.0

    def gain(h: int, k: int) -> float:
        if k >= n_rows[h]:
            return 0.0
        return float(reach[h] ** 2 / (k * (k + 1))) if k >= 2 else np.inf

    now = np.array([gain(h, k) for h, k in enumerate(n_labels)])
    following = n_labels.copy()
    # fewest labels first among those with fewer than two
    queue = [(-gain(h, k), k, h) for h, k in enumerate(following) if k < n_rows[h]]
    heapq.heapify(queue)
    for _ in range(size):
        _, k, h = heapq.heappop(queue)
        following[h] = k + 1
        if k + 1 < n_rows[h]:
            heapq.heappush(queue, (-gain(h, k + 1), k + 1, h))
    names = tuple(np.asarray(strata)[first].tolist())
    return LabelAllocation(names, n_rows, n_labels, sd, now, following - n_labels)


def _spread(f: Floats, y: Floats, known: Mask, codes: Codes, n_labels: Codes) -> Floats:
    """Return the standard deviation of people's value minus lam times the judge's, by stratum."""
    count = len(n_labels)
    if not known.any():
        return np.full(count, np.nan)
    values = np.where(known, y, 0.0)
    lam, _ = tune_power(f, values, make_label_design(known, None, codes))
    error = np.where(known, values - lam * f, 0.0)
    mean = np.bincount(codes, error, minlength=count) / np.maximum(n_labels, 1)
    squares = np.bincount(codes, np.where(known, np.square(error - mean[codes]), 0.0), minlength=count)
    pooled = squares.sum() / max(int((n_labels - 1).clip(0).sum()), 1)
    if pooled == 0:  # people never disagreed within a stratum: one error in all labels is as good a guess as any
        pooled = max(float(values[known].var()), 1e-12) / known.sum()
    return np.where(n_labels > 0, np.sqrt((squares + pooled) / np.maximum(n_labels, 1)), np.nan)
