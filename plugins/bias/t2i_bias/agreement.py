"""Agreement between people and a judge: kappa and phi of their answers, and the spread within prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.statistics import cohen_kappa, phi

from .spread import mad, shares_of


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


def agreement(a: NDArray[np.intp], b: NDArray[np.intp], prompts: NDArray[Any]) -> dict[str, float]:
    """Return the share of equal answers, and kappa and phi with intervals over prompts.

    Args:
        a: Index of the first rater's category, shape (n,).
        b: Index of the second rater's category, shape (n,).
        prompts: Prompt of each answer, shape (n,).

    Returns:
        `agreement`, and `kappa` and `phi` each with `low` and `high`; NaN if there is no value.
    """
    line = {"agreement": float((a == b).mean()) if len(a) else float("nan")}
    for name, found in (("kappa", cohen_kappa(a, b, prompts)), ("phi", phi(a, b, prompts))):
        line |= {name: found.value, f"{name} low": found.lo, f"{name} high": found.hi}
    return line
