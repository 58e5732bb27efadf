"""Shares of 0 and 1 with their intervals, which answer the question of the run's own."""

from __future__ import annotations

from typing import Any

import pandas as pd
from t2i_core.statistics import Question, mean_interval


def share(rows: pd.DataFrame, column: str, interval: Question, weights: pd.Series | None = None) -> dict[str, Any]:
    """Mean of a column of 0 and 1 with its 95 % interval, and of how many prompts or seeds that is made.

    rows: of images or objects, with their `cluster` and `seed`; none of the column's values is missing
    """
    found = mean_interval(
        rows[column].to_numpy(float),
        rows["cluster"],
        rows["seed"],
        weights=weights,
        interval=interval,
        low=0,
        high=1,
    )
    return {column: found.value, "low": found.lo, "high": found.hi, "clusters": found.n_clusters}


def said(question: str) -> str:
    """What a summary says of such intervals."""
    return (
        f"95 % intervals ({question}; Wilson on the effective n that clusters leave, Clopper-Pearson where "
        "nothing varies), rough with fewer than 10 clusters."
    )
