"""The models beside each other: a forest plot and the possible ranks under each metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from t2i_core.api.figure import ForestPlot
from t2i_core.results.result import Result
from t2i_core.results.verdict import describe_need

from ..metric_results import MetricResults
from .drawing import DrawnFigure, draw_figure


@dataclass(frozen=True)
class ModelRow:
    """A model under one metric.

    Attributes:
        result: Its result.
        ranks: The ranks that it may have, in words; empty without a score.
    """

    result: Result
    ranks: str


@dataclass(frozen=True)
class Forest:
    """The models of one metric.

    Attributes:
        group: The results.
        rows: The models, the best first; those without a score last.
        figure: The forest plot; None if no model has a score, or it cannot be drawn.
        need: Number of prompts that would show a difference, in words; None if all comparisons are significant.
    """

    group: MetricResults
    rows: Sequence[ModelRow]
    figure: DrawnFigure | None
    need: str | None = None


def draw_forests(groups: Sequence[MetricResults], faults: list[str]) -> list[Forest]:
    """Return the models of each metric.

    Args:
        groups: The results by metric.
        faults: Receives why figures are left out.
    """
    return [_draw_forest(group, faults) for group in groups]


def _draw_forest(group: MetricResults, faults: list[str]) -> Forest:
    by_label = {result.label: result for result in group.results}
    rows = [ModelRow(by_label[each.label], each.ranks) for each in group.standings]
    rows += [ModelRow(result, "") for result in group.results if result.score is None]
    scored = [row.result for row in rows if row.result.score is not None]
    if not scored:
        return Forest(group, rows, None)
    bounds = {each.label: each.upper_bound.value for each in scored if each.upper_bound is not None}
    table = pd.DataFrame(
        {
            "model": [each.label for each in scored],
            "score": [each.score for each in scored],
            "low": [None if each.ci is None else each.ci[0] for each in scored],
            "high": [None if each.ci is None else each.ci[1] for each in scored],
            "n": [each.n_ok for each in scored],
            "upper bound": [bounds.get(each.label) for each in scored],
        }
    ).astype({"low": float, "high": float, "upper bound": float})
    figure = ForestPlot(
        label="model",
        value="score",
        title=f"{group.name}, 95 % interval",
        ticks={"upper bound": "upper bound"} if any(bound is not None for bound in bounds.values()) else {},
        hover=["n"],
    )
    need = None if group.is_corrected else describe_need(group.comparisons)  # labels are missing, not prompts
    return Forest(group, rows, draw_figure(figure, table, group.title, faults), need)
