"""From the measurement table to scores, facets and comparisons, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from ..metrics import Measure, Metric
from ..statistics import (
    Comparison,
    Estimate,
    Question,
    block_jackknife,
    mean_interval,
    paired_difference,
    statistic_differences,
    statistic_intervals,
)
from .jobs import Job

MOST_LEVELS = 1000
"""A facet with more levels than this is left to the measurement table."""

Statistic = Callable[[NDArray[np.float64]], Mapping[str, float]]
Facets = Mapping[str, Mapping[str, Mapping[str, Estimate]]]


@dataclass(frozen=True)
class Scores:
    """The scores of one model by name, the headline first, and what they break down to.

    facets: estimates by measure, facet and level
    """

    scores: Mapping[str, Estimate]
    facets: Facets
    notes: tuple[str, ...] = ()


class _Clusters(TypedDict):
    """What is resampled, as the statistics take it."""

    prompt: NDArray[Any]
    seed: NDArray[Any] | None
    crossed: bool
    strata: NDArray[Any] | None


def score(job: Job, table: pd.DataFrame, interval: Question) -> dict[str, Scores]:
    """Return each model's scores by label; `table` holds all rows of the job."""
    if table.empty:
        return {model.label: Scores({}, {}) for model in job.models}
    if job.pairs:
        ratings = _aggregated(job, table, interval)
        headline = job.metric.info.measures[0].name
        return {
            model.label: Scores({headline: ratings[model.label]} if model.label in ratings else {}, {})
            for model in job.models
        }
    (model,) = job.models
    if job.instance.group_by == "model":
        return {model.label: Scores(_jackknifed(job, table), {})}
    means, facets, notes = {}, {}, []
    aggregated = _aggregated(job, table, interval)
    for measure in job.metric.info.measures:
        rows = table[table["measure"] == measure.name]
        if len(rows) and measure.name not in aggregated:
            means[measure.name] = _mean(job, measure, rows, interval)
            facets[measure.name], said = _facets(job, measure, rows, interval)
            notes += said
    order = [m.name for m in job.metric.info.measures]
    named = {**means, **aggregated}
    ordered = sorted(named, key=lambda n: order.index(n) if n in order else len(order))
    return {
        model.label: Scores({n: named[n] for n in ordered}, {m: f for m, f in facets.items() if f}, tuple(notes))
    }


def compare(job: Job, a: str, b: str, table: pd.DataFrame, interval: Question) -> Comparison | None:
    """Compare two models' headline scores, a - b, on the prompts and seeds that both have.

    `table` holds the rows of both. None where they share nothing, or where one has no score.
    """
    if table.empty:
        return None
    if job.pairs:
        statistic = _statistic(job.instance, table)
        if not {a, b} <= set(statistic(np.ones(len(table)))):
            return None
        return statistic_differences(statistic, [(a, b)], interval=interval, **_clusters(job, table))[a, b]
    if job.instance.group_by == "model":
        return _jackknifed_difference(job, table, a, b)
    headline = job.metric.info.measures[0]
    rows = _shared(table, a, b)
    if rows.empty:
        return None
    if headline.name in _statistic(job.instance, rows)(np.ones(len(rows))):
        statistic = _one_each(job.instance, rows, (a, b), headline.name)
        return statistic_differences(statistic, [(a, b)], interval=interval, **_clusters(job, rows))[a, b]
    return _paired(job, headline, rows, (a, b), interval)


def _mean(job: Job, measure: Measure, rows: pd.DataFrame, interval: Question) -> Estimate:
    clusters = _clusters(job, rows)
    return mean_interval(rows["value"], interval=interval, low=measure.low, high=measure.high, **clusters)


def _facets(
    job: Job, measure: Measure, rows: pd.DataFrame, interval: Question
) -> tuple[dict[str, dict[str, Estimate]], list[str]]:
    found: dict[str, dict[str, Estimate]] = {}
    notes = []
    for facet in measure.facets:
        if facet not in rows or rows[facet].isna().all():
            continue
        levels = rows.groupby(facet, observed=True, sort=False)
        if len(levels) > MOST_LEVELS:
            notes.append(f"{measure.name} by {facet}: {len(levels)} levels, see measurements.csv")
            continue
        found[facet] = {str(level): _mean(job, measure, part, interval) for level, part in levels}
    return found, notes


def _clusters(job: Job, rows: pd.DataFrame) -> _Clusters:
    strata = job.instance.strata
    return {
        "prompt": rows["cluster"].cat.codes.to_numpy(),
        "seed": rows["seed"].cat.codes.to_numpy() if "seed" in rows else None,
        "crossed": job.instance.crossed,
        "strata": rows[strata].cat.codes.to_numpy() if strata and strata in rows else None,
    }


def _statistic(metric: Metric, table: pd.DataFrame) -> Statistic:
    return lambda weights: metric.aggregate(table, weights)


def _aggregated(job: Job, table: pd.DataFrame, interval: Question) -> dict[str, Estimate]:
    """The scores that are no plain means, resampled."""
    statistic = _statistic(job.instance, table)
    names = set(statistic(np.ones(len(table))))
    if not names:
        return {}
    ranges = {m.name: (m.low, m.high) for m in job.metric.info.measures if m.name in names}
    return statistic_intervals(statistic, interval=interval, ranges=ranges, **_clusters(job, table))


def _one_each(metric: Metric, rows: pd.DataFrame, labels: Sequence[str], name: str) -> Statistic:
    """One score of each of several models, under the same weights."""
    own = [(label, (rows["model"] == label).to_numpy()) for label in labels]
    parts = [(label, mask, rows[mask]) for label, mask in own]
    return lambda weights: {label: metric.aggregate(part, weights[mask])[name] for label, mask, part in parts}


def _shared(table: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """The rows of two models whose prompt (and seed) both have."""
    table = table[table["model"].isin([a, b])]
    cell = [c for c in ("prompt", "seed") if c in table]
    both = table.groupby(cell, observed=True)["model"].transform("nunique") == 2
    return table[both]


def _paired(
    job: Job, measure: Measure, rows: pd.DataFrame, labels: tuple[str, str], interval: Question
) -> Comparison | None:
    """Pair the cells of two models; a cell with several rows counts with their mean."""
    rows = rows[rows["measure"] == measure.name]
    cell = [c for c in ("prompt", "cluster", "seed", job.instance.strata) if c and c in rows]
    wide = rows.groupby([*cell, "model"], observed=True)["value"].mean().unstack("model")
    wide = wide.reindex(columns=list(labels)).dropna().reset_index()
    if wide.empty:
        return None
    return paired_difference(
        wide[labels[0]],
        wide[labels[1]],
        interval=interval,
        low=measure.low,
        high=measure.high,
        **_clusters(job, wide),
    )


def _left_out(table: pd.DataFrame, measure: str) -> tuple[float, pd.Series[float]]:
    """A set's value on all images, and its values without each block."""
    rows = table[table["measure"] == measure].set_index("left_out")["value"]
    return float(rows["none"]), rows.drop("none")


def _jackknifed(job: Job, table: pd.DataFrame) -> dict[str, Estimate]:
    scores = {}
    for measure in job.metric.info.measures:
        if (table["measure"] == measure.name).any():
            full, parts = _left_out(table, measure.name)
            if len(parts) < 2:
                note = "too few images for a jackknife: no interval can be formed"
                nan = float("nan")
                scores[measure.name] = Estimate(
                    full, nan, nan, "none", "new images of this model", 1, notes=(note,)
                )
            else:
                scores[measure.name] = block_jackknife(full, list(parts), low=measure.low, high=measure.high)
    return scores


def _jackknifed_difference(job: Job, table: pd.DataFrame, a: str, b: str) -> Comparison | None:
    """Compare two sets by leaving the same blocks of images out of both."""
    name = job.metric.info.measures[0].name
    (full_a, parts_a), (full_b, parts_b) = (_left_out(table[table["model"] == m], name) for m in (a, b))
    parts = (parts_a - parts_b).dropna()
    if len(parts) < 2:
        return None
    e = block_jackknife(full_a - full_b, list(parts))
    p = 2 * float(stdtr(e.df, -abs(e.value) / e.se)) if e.se else float(e.value == 0)
    return Comparison(e.value, e.lo, e.hi, p, len(parts), e.method, e.question, e.n_clusters, e.df, e.se, e.notes)
