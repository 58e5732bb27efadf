"""Comparison of seeds between models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.figure import LinePlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import holm

from .tables import Tables

ROUNDS = 1000
ROUNDING = 1e-9
"""Standard deviations up to this value are rounding errors and count as 0."""


def seeds_of_models(tables: Tables) -> Iterator[Analysis]:
    """Yield the seeds' standardised scores of each model, and their correlation between models."""
    scores = pd.DataFrame({model: tables.seeds_of(model).mean() for model in tables.models}).sort_index()
    if len(scores) < 3:
        return
    deviation = scores.std(ddof=0).where(lambda sd: sd > ROUNDING)
    standard = (scores - scores.mean()) / deviation
    table = standard.rename_axis("seed").reset_index()
    summary = "TIAM of each seed minus the model's mean, in standard deviations of the model's seeds."
    order = standard.mean(axis=1).sort_values(ascending=False, kind="stable").index
    long = standard.loc[order].rename_axis("seed").reset_index()
    figure = LinePlot(
        x="seed", y="deviations", colour="model", scale="levels", reference=0,
        data=long.melt("seed", var_name="model", value_name="deviations"),
        x_title="seed, in descending order of the mean over models",
        y_title="standard deviations from the model's mean",
    )  # fmt: skip
    yield Analysis("standardised seeds", summary, table, figure)
    pairs = list(combinations(tables.models, 2))
    lines = [{"a": a, "b": b, **correlation(standard[[a, b]].dropna().to_numpy())} for a, b in pairs]
    if lines:
        found = pd.DataFrame(lines)
        found.insert(list(found).index("p_unadjusted"), "p_adjusted", holm(found["p_unadjusted"]))
        summary = (
            "Correlation of the seeds' scores between models; p_unadjusted from 1,000 permutations of seeds, "
            "p_adjusted by Holm."
        )
        yield Analysis("seeds between models", summary, found)


def correlation(pairs: NDArray[np.float64]) -> dict[str, float | int]:
    """Return Pearson's r of two columns with its two-sided permutation p.

    Args:
        pairs: float64 of shape (seeds, 2).

    Returns:
        `r`, `p_unadjusted` and the number of `seeds`; r and p are NaN if there are fewer than 3 seeds or a column
        does not vary.
    """
    if len(pairs) < 3 or (np.ptp(pairs, axis=0) == 0).any():
        return {"r": float("nan"), "p_unadjusted": float("nan"), "seeds": len(pairs)}
    a, b = ((pairs - pairs.mean(axis=0)) / pairs.std(axis=0)).T
    r = float(a @ b) / len(a)
    rng = np.random.default_rng(0)
    null = rng.permuted(np.tile(b, (ROUNDS, 1)), axis=1) @ a / len(a)
    p = (1 + int((np.abs(null) >= abs(r) - 1e-12).sum())) / (ROUNDS + 1)
    return {"r": r, "p_unadjusted": p, "seeds": len(a)}
