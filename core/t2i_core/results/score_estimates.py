"""Scores with their intervals, computed from rows by one set of rules for an evaluation and for a stored run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..api.metric import SetMetric, TableMetric
from ..api.metric_output import SettledMeasure
from ..api.plugin_guard import guard_plugin
from ..statistics import (
    NO_VARIATION,
    Estimate,
    PairedDifference,
    Question,
    block_jackknife,
    mean_interval,
    statistic_differences,
    statistic_intervals,
)
from .score_difference import (
    Scoring,
    find_clusters,
    find_question,
    make_statistic,
    select_aggregated,
    select_whole_sets,
    split_left_out,
)

_NO_INTERVAL = f"{NO_VARIATION}: no interval can be formed"


@dataclass(frozen=True)
class ModelScores:
    """The scores of one model under one metric, over all its rows.

    Attributes:
        scores: Estimates by name, the headline first.
        own: Names of the scores that the metric computes itself; the others are means of rows, or of sets.
    """

    scores: Mapping[str, Estimate]
    own: frozenset[str] = frozenset()


def estimate_model_scores(scoring: Scoring, table: pd.DataFrame, interval: Question) -> ModelScores:
    """Return a model's scores, which are not those of pairs.

    Args:
        scoring: The rules.
        table: The model's rows; every column except `value` is categorical.
        interval: The question that the intervals answer.
    """
    if isinstance(scoring.instance, SetMetric):
        wholes = {m: select_whole_sets(table[table["measure"] == m.name]) for m in scoring.measures}
        return ModelScores({m.name: estimate_set(scoring, m, rows) for m, rows in wholes.items() if len(rows)})
    own, left_out = estimate_own_scores(scoring, table, interval)
    named = dict(own)
    for measure in scoring.measures:
        rows = table[table["measure"] == measure.name]
        if len(rows) and measure.name not in own and measure.name not in left_out:
            named[measure.name] = estimate_mean(scoring, measure, interval, rows)
    order = [measure.name for measure in scoring.measures]
    ordered = sorted(named, key=lambda name: order.index(name) if name in order else len(order))
    return ModelScores({name: named[name] for name in ordered}, frozenset(own))


def estimate_pair_scores(
    scoring: Scoring, labels: Collection[str], table: pd.DataFrame, interval: Question
) -> dict[str, Estimate]:
    """Return the scores of models that are measured in pairs, by label, and the metric's other scores by name.

    Args:
        scoring: The rules.
        labels: The models' labels.
        table: The rows of all pairs, or those of one level of a facet.
        interval: The question that the intervals answer.
    """
    found = _resample_scores(scoring, table, interval, labels)
    return {
        name: _drop_no_width(estimate) if estimate.se == 0 and name in labels else estimate
        for name, estimate in found.items()
    }


def _drop_no_width(estimate: Estimate) -> Estimate:
    """Drop an interval of no width: a rating is not certain because all prompts agree."""
    notes = (*(note for note in estimate.notes if not note.startswith(NO_VARIATION)), _NO_INTERVAL)
    return replace(estimate, lo=math.nan, hi=math.nan, notes=notes)


def compare_pair_scores(
    scoring: Scoring, labels: Sequence[str], table: pd.DataFrame, interval: Question
) -> dict[tuple[str, str], PairedDifference]:
    """Compare each two models with a score under a metric of pairs, all with the same weights.

    The arguments are those of `estimate_pair_scores`.
    """
    table = select_aggregated(scoring, table)
    if table.empty:
        return {}
    statistic = make_statistic(scoring, table)
    scored = statistic(np.ones(len(table)))
    both = combinations([label for label in labels if label in scored], 2)
    low, high = scoring.measures[0].low, scoring.measures[0].high
    return statistic_differences(
        statistic, both, interval=interval, low=low, high=high, **find_clusters(scoring, table)
    )


def estimate_mean(
    scoring: Scoring, measure: SettledMeasure, interval: Question, rows: pd.DataFrame, level: float = 0.95
) -> Estimate:
    """Return the mean of the rows of a measure."""
    return mean_interval(
        rows["value"],
        interval=interval,
        low=measure.low,
        high=measure.high,
        level=level,
        **find_clusters(scoring, rows),
    )


def make_mean(scoring: Scoring, interval: Question) -> Callable[..., Estimate]:
    """Return the function that forms intervals of means for a metric's own scores."""
    return partial(_estimate_any_mean, scoring, interval)


def _estimate_any_mean(scoring: Scoring, interval: Question, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
    """Return the mean of rows of a single measure."""
    (name,) = rows["measure"].unique()
    return estimate_mean(scoring, next(m for m in scoring.measures if m.name == name), interval, rows, level)


def estimate_own_scores(
    scoring: Scoring, table: pd.DataFrame, interval: Question
) -> tuple[dict[str, Estimate], set[str]]:
    """Return a model's scores that the metric computes itself, and the measures without a score over all rows."""
    instance = scoring.instance
    if not isinstance(instance, TableMetric):
        return _resample_scores(scoring, table, interval), set()
    with guard_plugin(scoring.metric, "to form intervals"):
        formed = dict(instance.estimates(table, make_mean(scoring, interval)))
        given = {name: estimate for name, estimate in formed.items() if estimate is not None}
        strange = next((e for e in given.values() if not isinstance(e, Estimate)), None)
        if strange is not None:
            raise TypeError(f"gave {type(strange).__name__}; it must give Estimate")
    return {**_resample_scores(scoring, table, interval, but=formed), **given}, set(formed) - set(given)


def estimate_set(scoring: Scoring, measure: SettledMeasure, rows: pd.DataFrame) -> Estimate:
    """Return the value of one set under a measure, from its rows with and without each block."""
    full, parts = split_left_out(rows)
    question = find_question(scoring.instance)
    if len(parts) < 2:
        note = f"too few {question.split()[1]} for a jackknife: no interval can be formed"
        return Estimate(full, float("nan"), float("nan"), "none", question, 1, notes=(note,))
    return block_jackknife(full, list(parts), low=measure.low, high=measure.high, question=question)


def _resample_scores(
    scoring: Scoring,
    table: pd.DataFrame,
    interval: Question,
    labels: Collection[str] = (),
    but: Collection[str] = (),
) -> dict[str, Estimate]:
    """Return the scores that are not plain means, with resampled intervals.

    Args:
        scoring: The rules.
        table: The rows.
        interval: The question that the intervals answer.
        labels: Of a metric of pairs, the models' labels, which are the names of their headline scores.
        but: Names of scores that are left out.
    """
    table = select_aggregated(scoring, table)
    whole = make_statistic(scoring, table)
    names = set(whole(np.ones(len(table)))) - set(but)
    if not names:
        return {}
    ranges = {name: (m.low, m.high) for name, m in _match_measures(scoring, names, labels).items()}
    if isinstance(scoring.instance, TableMetric):
        with guard_plugin(scoring.metric, "to say the ranges of its scores"):
            ranges |= {name: own for name, own in scoring.instance.ranges(table).items() if name in names}

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        return {name: value for name, value in whole(weights).items() if name not in but}

    return statistic_intervals(statistic, interval=interval, ranges=ranges, **find_clusters(scoring, table))


def _match_measures(scoring: Scoring, names: Iterable[str], labels: Collection[str]) -> dict[str, SettledMeasure]:
    """Return the measure of each score that has one."""
    found = {measure.name: measure for measure in scoring.measures}
    found |= dict.fromkeys(labels, scoring.measures[0])
    return {name: found[name] for name in names if name in found}
