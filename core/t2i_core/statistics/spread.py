"""Best and worst of many levels (such as seeds), compared with what chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .design import Floats
from .means import make_sample


def _compute_means(table: Floats) -> Floats:
    """Return the mean of each column over the cells that it has; NaN if it has none."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(table, axis=0) / (~np.isnan(table)).sum(axis=0))


def _compute_range(means: Floats) -> float:
    return float(np.nanmax(means) - np.nanmin(means))


@dataclass(frozen=True)
class Spread:
    """Means by level, compared with chance.

    Attributes:
        table: One row for each level (its index), with `mean`; `shrunk`, the mean shrunk towards the grand mean by
            the share of the levels' variance that is noise; `n`, the number of cells; `rank`, 1 the best, ties in
            their order; and `null_low` to `null_high`, the range of the mean of this rank in 95 % of cases if
            levels did not matter.
        range: Best minus worst mean.
        null_mean: Mean of that range if levels did not matter.
        null_high: 95th percentile of that range if levels did not matter.
        p: Chance of a range at least this large if levels did not matter, in [0, 1].
        reliability: Share of the variance between levels' means that is not noise, in [0, 1].
    """

    table: pd.DataFrame
    range: float
    null_mean: float
    null_high: float
    p: float
    reliability: float


def level_spread(
    value: ArrayLike,
    prompt: ArrayLike,
    level: ArrayLike,
    *,
    rounds: int = 1000,
    rng_seed: int = 0,
) -> Spread:
    """Compare the levels of a factor crossed with prompts, such as the seeds, with chance.

    Within each prompt the cells are permuted over the levels: with many levels the best and the worst lie far
    apart by chance alone. Means are shrunk by 1 - MS_noise / MS_levels, at least 0, of the two-way table of
    prompts and levels.

    Args:
        value: One finite number for each row, shape (n,). Rows of one (prompt, level) are averaged; some may be
            missing.
        prompt: The prompt of each row, shape (n,).
        level: The level of each row, shape (n,).
        rounds: Number of permutations.
        rng_seed: Seed of the random numbers; the same seed gives the same result.

    Returns:
        The means by level with what chance alone would give.

    Raises:
        ValueError: If there are fewer than two prompts or levels, or a value is not finite.

    References:
        M. Friedman (1937) and E. J. G. Pitman (1938) for permutation within blocks.
        B. Efron and C. Morris, Data analysis using Stein's estimator (1975), for the shrinkage.
    """
    sample, _ = make_sample(value, None)
    rows = pd.DataFrame({"value": sample.value, "prompt": prompt, "level": level})
    cells = rows.pivot_table(index="prompt", columns="level", values="value", aggfunc="mean")
    table = cells.to_numpy(dtype=np.float64)
    if min(table.shape) < 2:
        raise ValueError(f"need at least two prompts and two levels, got {table.shape}")
    means = _compute_means(table)
    found = _compute_range(means)

    rng = np.random.default_rng(rng_seed)
    ordered = np.array([-np.sort(-_compute_means(rng.permuted(table, axis=1))) for _ in range(rounds)])
    null = np.nanmax(ordered, axis=1) - np.nanmin(ordered, axis=1)

    counts = (~np.isnan(table)).sum(axis=0)
    grand = float(np.nanmean(table))
    residual = table - np.nanmean(table, axis=1, keepdims=True)
    effects = _compute_means(residual)
    n_prompts, n_levels = table.shape
    between = float(counts @ effects**2) / (n_levels - 1)
    free = int(counts.sum()) - n_prompts - n_levels + 1
    noise = float(np.nansum((residual - effects) ** 2)) / free if free > 0 else between
    reliability = max(0.0, 1 - noise / between) if between > 0 else 0.0
    place = np.argsort(np.argsort(-means, kind="stable"))
    band = np.nanquantile(ordered, [0.025, 0.975], axis=0)[:, place]
    return Spread(
        pd.DataFrame(
            {
                "mean": means,
                "shrunk": grand + reliability * (means - grand),
                "n": counts,
                "rank": place + 1,
                "null_low": band[0],
                "null_high": band[1],
            },
            index=cells.columns,
        ),
        found,
        float(null.mean()),
        float(np.quantile(null, 0.95)),
        (1 + int((null >= found - 1e-12).sum())) / (rounds + 1),
        reliability,
    )
