"""Mean rewards beside the ratings by people and other judges: do they put models in the same order?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from t2i_core.api.errors import BadOption
from t2i_core.api.figure import ScatterPlot
from t2i_core.api.study import Analysis
from t2i_core.statistics import Question, spearman

from .battles import Battles
from .judge_comparison import split_people
from .ratings import rate
from .rows import estimate_mean
from .source_comparison import read_named


def compare_with_ratings(
    rows: pd.DataFrame, paths: Sequence[Path], own: Mapping[str, Battles], question: Question
) -> Iterator[Analysis]:
    """Yield the rank correlation of mean rewards with ratings by each judge, and both values of each model.

    Args:
        rows: Rows of the measure `reward`.
        paths: Runs of `elo`, files of battles, or files of people's answers.
        own: Battles of the same run, by name.
        question: What the intervals of rewards answer, as in the run.

    Raises:
        BadOption: If a source has no battles of two of the models.
    """
    judged = split_people({**own, **read_named(paths)})
    if not judged:
        return
    rewards = {
        str(model): _estimate(each, question) for model, each in rows.groupby("model", sort=False, observed=True)
    }
    lines, points = [], []
    for judge, battles in judged.items():
        rated = rate(battles).table.dropna(subset="rating").set_index("model")
        both = [model for model in rewards if model in rated.index]
        if len(both) < 2:
            raise BadOption(f"{judge}: has no battles of two of this run's models ({', '.join(rewards)})")
        found = spearman([rewards[model]["reward"] for model in both], rated.loc[both, "rating"])
        line = {"judge": judge, "models": len(both), "rho": found.value, "low": found.lo, "high": found.hi}
        lines.append({**line, "p": found.p})
        for model in both:
            low, high = rated.loc[model, ["low", "high"]]
            point = {
                "judge": judge,
                "model": model,
                "rating": rated.loc[model, "rating"],
                "low": low,
                "high": high,
            }
            points.append({**point, **rewards[model]})
    summary = (
        "Spearman's rho between the models' mean rewards and their ratings by each judge; 95 % interval by "
        "Fisher's z from 5 models on, p exact up to 8 models."
    )
    figure = ScatterPlot(
        x="reward", y="rating", label="model", facet="judge", data=pd.DataFrame(points),
        x_interval=("reward low", "reward high"), x_title="mean reward", y_title="rating",
    )  # fmt: skip
    yield Analysis("rewards beside ratings", summary, pd.DataFrame(lines), figure)


def _estimate(rows: pd.DataFrame, question: Question) -> dict[str, float]:
    found = estimate_mean(rows, question)
    return {"reward": found.value, "reward low": found.lo, "reward high": found.hi}
