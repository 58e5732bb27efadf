"""Best and worst of many levels (seeds, say), beside what chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .design import Floats
from .means import make_sample


def _means(table: Floats) -> Floats:
    """Mean of each column over the cells it has; NaN where it has none."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(table, axis=0) / (~np.isnan(table)).sum(axis=0))


def _range(means: Floats) -> float:
    return float(np.nanmax(means) - np.nanmin(means))


@dataclass(frozen=True)
class Spread:
    """Means per level with what they are worth.

    ``table`` has one row per level (its index), with ``mean``, ``shrunk`` (the mean drawn towards the grand
    mean by the share of the levels' variance that is noise), ``n`` (cells), ``rank`` (1 is the best; ties in
    their order) and ``null_low`` to ``null_high``: where the mean of this rank lies in 95 % of cases if levels
    did not matter. ``range`` is best less worst
    mean. ``null_mean`` and ``null_high`` are the mean and the 95th percentile of that range if levels did not
    matter, ``p`` the chance of a range as large. ``reliability`` is the share of the variance between
    levels' means that is not noise, 0 to 1.
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

    ``value`` (finite floats), ``prompt`` and ``level`` (labels) have one entry per row; rows of one cell are
    averaged, cells may be missing. Within each prompt the cells are permuted over the levels ``rounds``
    times: with many levels the best and the worst lie far apart by chance alone. Shrinkage is by
    1 - MS_noise / MS_levels, at least 0, of the two-way table of prompts and levels. Deterministic for one
    ``rng_seed``. Raises ValueError for fewer than two prompts or levels, or values that are not finite.

    Source: permutation within blocks (M. Friedman 1937, E. J. G. Pitman 1938); shrinkage as in B. Efron and
    C. Morris, Data analysis using Stein's estimator (1975).
    """
    sample, _ = make_sample(value, None)
    rows = pd.DataFrame({"value": sample.value, "prompt": prompt, "level": level})
    cells = rows.pivot_table(index="prompt", columns="level", values="value", aggfunc="mean")
    table = cells.to_numpy(dtype=np.float64)
    if min(table.shape) < 2:
        raise ValueError(f"need at least two prompts and two levels, got {table.shape}")
    means = _means(table)
    found = _range(means)

    rng = np.random.default_rng(rng_seed)
    ordered = np.array([-np.sort(-_means(rng.permuted(table, axis=1))) for _ in range(rounds)])
    null = np.nanmax(ordered, axis=1) - np.nanmin(ordered, axis=1)

    counts = (~np.isnan(table)).sum(axis=0)
    grand = float(np.nanmean(table))
    residual = table - np.nanmean(table, axis=1, keepdims=True)
    effects = _means(residual)
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
