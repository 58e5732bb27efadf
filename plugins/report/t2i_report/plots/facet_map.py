"""Where models differ: the levels of each metric by model, those with the largest difference first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, nan
from typing import Any

import pandas as pd
from t2i_core.api.figure import ForestPlot, HeatMap
from t2i_core.results.pair_verdict import LEVEL
from t2i_core.results.result import Result, Score

from ..metric_results import MetricResults
from ..words.level_tests import adjust, compare_two
from ..words.weak_spots import Level, find_score, list_levels
from .drawing import DrawnFigure, draw_figure

MOST_ROWS = 20
"""Maximum number of levels in a figure; the table has all."""


@dataclass(frozen=True)
class LevelScores:
    """The scores of one level.

    Attributes:
        level: The level.
        scores: The score of each model; None if it has none.
        spread: The largest difference between two models; None if fewer than two have a score.
        is_sure: True if that difference is significant, adjusted for the numbers of levels and of pairs of models.
            Of a single model: if its interval is narrower than half the scale.
        p: The unadjusted p-value of that difference; NaN if it is not known.
    """

    level: Level
    scores: Sequence[Score | None]
    spread: float | None
    is_sure: bool
    p: float = nan


@dataclass(frozen=True)
class FacetMap:
    """The levels of one metric.

    Attributes:
        group: The results.
        labels: The models.
        rows: The levels: of several models those with the largest difference first, of one the worst first.
        figure: The heat map; of one model, a forest plot. None if it cannot be drawn.
    """

    group: MetricResults
    labels: Sequence[str]
    rows: Sequence[LevelScores]
    figure: DrawnFigure | None

    @property
    def n_left_out(self) -> int:
        """Number of levels that the figure leaves out."""
        return max(0, len(self.rows) - MOST_ROWS)


def draw_facet_maps(groups: Sequence[MetricResults], faults: list[str]) -> list[FacetMap]:
    """Return the levels of each metric that has some.

    Args:
        groups: The results by metric.
        faults: Receives why figures are left out.
    """
    return [found for group in groups if (found := _draw_map(group, faults)) is not None]


def compare_levels(group: MetricResults) -> list[LevelScores]:
    """Return the levels of a metric: of several models those that surely differ most first, of one the worst."""
    results = group.scored
    rows = [_compare_level(group, level, results) for level in list_levels(group)]
    rows = [row for row in rows if any(score is not None and score.value is not None for score in row.scores)]
    if len(results) == 1:
        sign = -1.0 if group.higher_is_better is False else 1.0
        return sorted(rows, key=lambda row: sign * _value(row.scores[0]))
    adjusted = adjust([row.p for row in rows], comb(len(results), 2))
    rows = [replace(row, is_sure=p < LEVEL) for row, p in zip(rows, adjusted, strict=True)]
    return sorted(
        rows, key=lambda row: (row.is_sure, row.spread if row.spread is not None else -1.0), reverse=True
    )


def _draw_map(group: MetricResults, faults: list[str]) -> FacetMap | None:
    rows = compare_levels(group)
    if len(rows) < 2:
        return None
    labels = group.labels
    table = _make_table(rows[:MOST_ROWS], labels)
    return FacetMap(group, labels, rows, draw_figure(_choose_figure(group, labels), table, group.title, faults))


def _choose_figure(group: MetricResults, labels: Sequence[str]) -> ForestPlot | HeatMap:
    if len(labels) == 1:
        return ForestPlot(label="level", value="score", title=f"{group.title}, 95 % interval")
    head = group.headline
    span = (head.low, head.high) if head is not None else (None, None)
    return HeatMap(
        x="model", y="level", value="score", range=span, title=group.title, x_title=" ", y_title=" ", pale="note"
    )


def _make_table(rows: Sequence[LevelScores], labels: Sequence[str]) -> pd.DataFrame:
    found: list[dict[str, Any]] = []
    for row in rows:
        for label, score in zip(labels, row.scores, strict=True):
            if score is not None:
                low, high = score.ci
                place = {"level": row.level.name, "model": label, "score": score.value, "low": low, "high": high}
                found.append({**place, "note": "" if row.is_sure else "may be chance"})
    return pd.DataFrame(found).astype({"score": float, "low": float, "high": float})


def _compare_level(group: MetricResults, level: Level, results: Sequence[Result]) -> LevelScores:
    scores = [find_score(result, level) for result in results]
    known = sorted((s for s in scores if s is not None and s.value is not None), key=_value)
    if len(known) < 2:
        head = group.headline
        low, high = known[0].ci if known else (None, None)
        scale = None
        if head is not None and head.low is not None and head.high is not None:
            scale = head.high - head.low
        narrow = low is not None and high is not None and scale is not None and high - low < scale / 2
        return LevelScores(level, scores, None, narrow and len(results) == 1)
    lowest, highest = known[0], known[-1]
    return LevelScores(level, scores, _value(highest) - _value(lowest), False, compare_two(lowest, highest))


def _value(score: Score | None) -> float:
    return float("nan") if score is None or score.value is None else score.value
