"""Means of 0/1 columns with intervals for the same question as the run's own intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd
from t2i_core.statistics import Question, mean_interval


def share(rows: pd.DataFrame, column: str, interval: Question, weights: pd.Series | None = None) -> dict[str, Any]:
    """Return the mean of a column of 0 and 1 with its 95 % interval.

    Args:
        rows: Rows of images or objects with `cluster` and `seed`; the column has no missing values.
        column: Name of the column.
        interval: The question of the interval.
        weights: Weight of each row; if None, all weigh the same.

    Returns:
        The mean under the column's name, `low`, `high`, and `clusters`: the number of prompts or seeds.
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


def describe_intervals(question: str) -> str:
    """Return the sentence that describes these intervals in a summary."""
    return (
        f"95 % intervals ({question}; Wilson on the effective n of clusters, or Clopper-Pearson if all values are "
        "equal), rough with fewer than 10 clusters."
    )
