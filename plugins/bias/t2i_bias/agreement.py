"""Agreement between people and a judge: kappa and phi of their answers, and the spread within prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.statistics import statistic_intervals

from .spread import Floats, mad, shares_of


def within_prompts(codes: NDArray[np.intp], prompts: pd.Series, categories: int) -> float:
    """Return the mean over prompts of the MAD of each prompt's answers.

    Args:
        codes: Index of each answer's category, shape (n,).
        prompts: Prompt of each answer, length n.
        categories: Number of categories.

    Returns:
        The mean; NaN if every prompt has a single answer.
    """
    if len(codes) == prompts.nunique():
        return float("nan")
    counts = pd.crosstab(prompts.to_numpy(), codes).reindex(columns=range(categories), fill_value=0)
    return float(mad(shares_of(counts.to_numpy())).mean())


def agreement(
    a: NDArray[np.intp], b: NDArray[np.intp], prompts: NDArray[Any], categories: int
) -> dict[str, float]:
    """Return the share of equal answers, and kappa and phi with intervals over prompts.

    Args:
        a: Index of the first rater's category, shape (n,).
        b: Index of the second rater's category, shape (n,).
        prompts: Prompt of each answer, shape (n,).
        categories: Number of categories.

    Returns:
        `agreement`, and `kappa` and `phi` each with `low` and `high`; all NaN if n is 0.
    """
    names = ("agreement", "kappa", "kappa low", "kappa high", "phi", "phi low", "phi high")
    if len(a) == 0:
        return dict.fromkeys(names, float("nan"))

    def compute(weights: Floats) -> dict[str, float]:
        table = np.bincount(a * categories + b, weights, categories**2).reshape(categories, categories)
        return {"kappa": kappa(table), "phi": phi(table)}

    found = statistic_intervals(compute, prompts, None, ranges={"kappa": (None, 1), "phi": (-1, 1)})
    line = {"agreement": float((a == b).mean())}
    for name, estimate in found.items():
        line |= {name: estimate.value, f"{name} low": estimate.lo, f"{name} high": estimate.hi}
    return line


def kappa(table: Floats) -> float:
    """Return Cohen's kappa of a table of answers.

    Args:
        table: Counts or weights of pairs of answers, shape (N, N).

    Returns:
        Kappa; NaN if both raters always give the same category.
    """
    shares = table / table.sum()
    expected = float((shares.sum(axis=0) * shares.sum(axis=1)).sum())
    return float("nan") if expected > 1 - 1e-12 else (float(np.trace(shares)) - expected) / (1 - expected)


def phi(table: Floats) -> float:
    """Return the phi coefficient of a table of answers; for N > 2 it is Gorodkin's R_K.

    Args:
        table: Counts or weights of pairs of answers, shape (N, N).

    Returns:
        Phi; NaN if either rater always gives the same category.
    """
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    spreads = (1 - np.square(rows).sum()) * (1 - np.square(columns).sum())
    if spreads < 1e-12:
        return float("nan")
    return float((np.trace(shares) - (rows * columns).sum()) / np.sqrt(spreads))
