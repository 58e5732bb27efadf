"""How far people and a judge agree: kappa and phi of their answers, and spreads within prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.statistics import statistic_intervals

from .spread import Floats, mad, shares_of


def within_prompts(codes: NDArray[np.intp], prompts: pd.Series, categories: int) -> float:
    """The later variant: MAD within each prompt's answers, mean over prompts; NaN where each has one answer."""
    if len(codes) == prompts.nunique():
        return float("nan")
    counts = pd.crosstab(prompts.to_numpy(), codes).reindex(columns=range(categories), fill_value=0)
    return float(mad(shares_of(counts.to_numpy())).mean())


def agreement(
    a: NDArray[np.intp], b: NDArray[np.intp], prompts: NDArray[Any], categories: int
) -> dict[str, float]:
    """The share of equal answers, kappa and phi, the latter two with intervals over prompts."""
    names = ("agreement", "kappa", "kappa low", "kappa high", "phi", "phi low", "phi high")
    if len(a) == 0:
        return dict.fromkeys(names, float("nan"))

    def said(weights: Floats) -> dict[str, float]:
        table = np.bincount(a * categories + b, weights, categories**2).reshape(categories, categories)
        return {"kappa": kappa(table), "phi": phi(table)}

    found = statistic_intervals(said, prompts, None, ranges={"kappa": (None, 1), "phi": (-1, 1)})
    line = {"agreement": float((a == b).mean())}
    for name, estimate in found.items():
        line |= {name: estimate.value, f"{name} low": estimate.lo, f"{name} high": estimate.hi}
    return line


def kappa(table: Floats) -> float:
    """Cohen's kappa of a table of answers (N, N), counts or weights; NaN where both always say the same one."""
    shares = table / table.sum()
    expected = float((shares.sum(axis=0) * shares.sum(axis=1)).sum())
    return float("nan") if expected > 1 - 1e-12 else (float(np.trace(shares)) - expected) / (1 - expected)


def phi(table: Floats) -> float:
    """The phi coefficient of a table (N, N), for N > 2 Gorodkin's R_K; NaN where either is always the same."""
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    spreads = (1 - np.square(rows).sum()) * (1 - np.square(columns).sum())
    if spreads < 1e-12:
        return float("nan")
    return float((np.trace(shares) - (rows * columns).sum()) / np.sqrt(spreads))
