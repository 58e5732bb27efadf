"""Analyses of rewards: distributions, tests paired by prompt, and the paper's unpaired test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu, wilcoxon
from t2i_core.api.facet_levels import locate_levels
from t2i_core.api.figure import DistributionPlot, HeatMap
from t2i_core.api.study import UPPER_BOUND, Analysis, Study
from t2i_core.statistics import holm

from .analyses import count_images
from .battles import Battles
from .options import RewardMetricOptions
from .reward_ratings import compare_with_ratings
from .rows import battles_of


def analyses(study: Study, options: RewardMetricOptions) -> Iterator[Analysis]:
    """Yield distributions of rewards, tests between each two models, and counts of images."""
    rows = study.table[study.table["measure"] == "reward"]
    groups = rows.groupby("model", sort=False, observed=True)["value"]
    values = {str(model): own.to_numpy(np.float64) for model, own in groups}
    spread = groups.describe(percentiles=[0.05, 0.25, 0.5, 0.75, 0.95]).reset_index()
    figure = DistributionPlot(label="model", value="value", kind="density", title="reward", data=rows)
    yield Analysis("distributions", "Rewards of each model's images.", spread, figure)
    for facet in options.by:
        if facet in rows:
            by_level = _repeat_levels(rows, facet)
            table = by_level.groupby([facet, "model"], sort=False, observed=True)["value"].describe().reset_index()
            figure = DistributionPlot(
                label="model", value="value", facet=facet, kind="box", title="reward", data=by_level
            )
            yield Analysis(f"rewards by {facet}", f"Rewards by model, separately for each {facet}.", table, figure)
    compared = {model: own for model, own in values.items() if not model.startswith(UPPER_BOUND)}
    if len(compared) > 1:
        summary = (
            "Wilcoxon signed-rank test between each two models, paired by prompt; p_adjusted by Holm's method."
        )
        yield Analysis("wilcoxon", summary, paired(rows[rows["model"].isin(compared)]))
        summary = (
            "The paper's test: Mann-Whitney on all images, ignoring that models share prompts. Two-sided p-values "
            "of the row's and the column's model, not adjusted."
        )
        matrix = unpaired(compared)
        long = matrix.melt("model", var_name="against", value_name="p")
        heat_map = HeatMap(x="against", y="model", value="p", range=(0, 1), digits=3, data=long)
        yield Analysis("mann-whitney", summary, matrix, heat_map)
    yield from compare_with_ratings(rows, options.beside, _find_battles(study), study.interval)
    yield count_images(study.samples)


def _repeat_levels(rows: pd.DataFrame, facet: str) -> pd.DataFrame:
    """Return the rows of each level of a facet in turn; a row that has several levels occurs in each."""
    parts = [rows.iloc[own].assign(**{facet: level}) for level, own in locate_levels(rows[facet]).items()]
    return pd.concat(parts, ignore_index=True)


def _find_battles(study: Study) -> dict[str, Battles]:
    """Return the battles of the same run, if it also measured `elo`."""
    others = study.others
    if others is None or others.empty:
        return {}
    elo = others[others["metric"].astype(str).str.rpartition("/")[2] == "elo"].dropna(axis="columns", how="all")
    return {"this run": battles_of(elo)} if len(elo) else {}


def paired(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare each two models on the prompts that both have, by Wilcoxon's signed-rank test.

    The seeds of a prompt are averaged first. Prompts on which both models are equal are handled by Pratt's method.

    Args:
        rows: Rows of the measure `reward`.

    Returns:
        A row for each two models with the two-sided p-value, `p_unadjusted`, and `p_adjusted` by Holm's method;
        both are NaN if the models are equal on every prompt.
    """
    wide = rows.astype({"cluster": str, "model": str}).pivot_table(
        index="cluster", columns="model", values="value", aggfunc="mean", sort=False
    )
    lines = []
    for a, b in combinations(wide.columns, 2):
        gap = (wide[a] - wide[b]).dropna().to_numpy(np.float64)
        p = float(wilcoxon(gap, zero_method="pratt").pvalue) if gap.any() else np.nan
        line = {"a": a, "b": b, "prompts": len(gap), "mean_difference": gap.mean() if len(gap) else np.nan}
        lines.append({**line, "median_difference": np.median(gap) if len(gap) else np.nan, "p_unadjusted": p})
    table = pd.DataFrame(lines)
    return table.assign(p_adjusted=holm(table["p_unadjusted"].to_numpy(np.float64)))


def unpaired(values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the matrix of two-sided p-values of the Mann-Whitney test."""
    table = pd.DataFrame(np.nan, index=list(values), columns=list(values))
    for a, b in combinations(values, 2):
        table.loc[a, b] = table.loc[b, a] = float(mannwhitneyu(values[a], values[b]).pvalue)
    return table.reset_index(names="model")
