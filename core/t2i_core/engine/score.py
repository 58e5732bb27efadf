"""From the measurement table to scores, facets and comparisons, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Protocol, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from ..api.metric import Metric, Note, SettledMeasure
from ..api.options import select_result_options
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import MetricInfo
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
from .component import Component
from .job import Job
from .request import NoisePolicy

MOST_LEVELS = 1000
"""A facet with more levels than this is left to the measurement table."""

Statistic = Callable[[NDArray[np.float64]], Mapping[str, float]]
Facets = Mapping[str, Mapping[str, Mapping[str, Estimate]]]


class Way(Protocol):
    """How rows become scores: of a job, or of a stored run whose rows are read again."""

    @property
    def metric(self) -> Component[MetricInfo]:
        """Whose rows they are."""
        ...

    @property
    def instance(self) -> Metric:
        """The metric, made."""
        ...

    @property
    def measures(self) -> tuple[SettledMeasure, ...]:
        """What it measures, the headline first."""
        ...

    @property
    def noise(self) -> NoisePolicy:
        """Whether seeds have something in common."""
        ...


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
        found = _aggregated(job, table, interval)
        labels = [model.label for model in job.models]
        headline = job.measures[0].name
        others = {name: estimate for name, estimate in found.items() if name not in labels}
        return {
            label: Scores({headline: found[label], **others} if label in found else {}, {}) for label in labels
        }
    (model,) = job.models
    if job.instance.group_by == "model":
        return {model.label: Scores(_jackknifed(job, table), {})}
    means, facets, notes = {}, {}, []
    aggregated, unsaid = _own(job, table, interval)
    for measure in job.measures:
        rows = table[table["measure"] == measure.name]
        if measure.name in aggregated:
            facets[measure.name], said = _facets(
                job, measure, table, partial(_one_aggregated, job, measure, interval)
            )
            notes += said
        elif len(rows):
            mean = partial(_mean, job, measure, interval)
            if measure.name not in unsaid:
                means[measure.name] = mean(rows)
            facets[measure.name], said = _facets(job, measure, rows, mean)
            notes += said
    order = [m.name for m in job.measures]
    named = {**means, **aggregated}
    ordered = sorted(named, key=lambda n: order.index(n) if n in order else len(order))
    return {
        model.label: Scores({n: named[n] for n in ordered}, {m: f for m, f in facets.items() if f}, tuple(notes))
    }


def remarks(job: Job, table: pd.DataFrame) -> list[Note]:
    """Return what the metric says of all rows together."""
    if table.empty:
        return []
    with guard_plugin(job.metric, "to say what must be known of its rows"):
        return list(job.instance.remarks(table))


def incomparable(a: Job, b: Job) -> str | None:
    """Say why two models' values cannot be compared, if so: they were not measured in the same way."""
    if select_result_options(a.metric.options) != select_result_options(b.metric.options):
        return "the metric's options differ"
    judges = [
        [(s.need.name, s.choice.judge.fingerprint) for s in job.needs if s.choice is not None] for job in (a, b)
    ]
    return "their judges differ" if judges[0] != judges[1] else None


def compare(job: Job, other: Job, a: str, b: str, table: pd.DataFrame, interval: Question) -> Comparison | None:
    """Compare two models' headline scores, a - b, on the prompts and seeds that both have.

    `job` measured a and `other` b, neither in pairs; `table` holds the rows of both. None where they share
    nothing, or where one has no score.
    """
    digests = {p.id: p.scene_digest for p in other.prompts}
    same = {p.id for p in job.prompts if digests.get(p.id) == p.scene_digest}
    return difference(job, a, b, table, same, interval)


def difference(
    way: Way, a: str, b: str, table: pd.DataFrame, same: Collection[str], interval: Question
) -> Comparison | None:
    """Compare two models' headline scores, a - b, neither measured in pairs; None where they share nothing.

    table: the rows of both, its columns but `value` categorical
    same:  ids of the prompts that are the same for both
    """
    if table.empty or not {a, b} <= set(table["model"].unique()):
        return None
    if way.instance.group_by == "model":
        return _jackknifed_difference(way, table, a, b)
    headline = way.measures[0]
    rows = shared(table[table["prompt"].isin(same)], a, b)
    if rows.empty:
        return None
    own = _aggregate_rows(way, rows)
    if headline.name in _statistic(way, own)(np.ones(len(own))):
        statistic = _one_each(way, own, (a, b), headline.name)
        found = statistic_differences(statistic, [(a, b)], interval=interval, **_clusters(way, own))[a, b]
        return replace(found, n=_samples(own))  # a sample has a row of each measure and model
    return _paired(way, headline, rows, (a, b), interval)


def scored(way: Way, table: pd.DataFrame) -> float:
    """A model's headline score, worked out from its rows; NaN where they have none. For no metric of pairs."""
    headline = way.measures[0].name
    if way.instance.group_by == "model":
        return _left_out(table, headline)[0]
    own = _aggregate_rows(way, table)
    aggregated = _statistic(way, own)(np.ones(len(own)))
    if headline in aggregated:
        return aggregated[headline]
    return float(table.loc[table["measure"] == headline, "value"].mean())


def compare_pairs(job: Job, table: pd.DataFrame, interval: Question) -> dict[tuple[str, str], Comparison]:
    """Compare each two models of a metric of pairs that have a score, all under the same weights."""
    table = _aggregate_rows(job, table)
    if table.empty:
        return {}
    statistic = _statistic(job, table)
    scored = statistic(np.ones(len(table)))
    both = combinations([model.label for model in job.models if model.label in scored], 2)
    return statistic_differences(statistic, both, interval=interval, **_clusters(job, table))


def _one_aggregated(job: Job, measure: SettledMeasure, interval: Question, rows: pd.DataFrame) -> Estimate | None:
    return _own(job, rows, interval)[0].get(measure.name)


def _mean(
    job: Job, measure: SettledMeasure, interval: Question, rows: pd.DataFrame, level: float = 0.95
) -> Estimate:
    return mean_interval(
        rows["value"],
        interval=interval,
        low=measure.low,
        high=measure.high,
        level=level,
        **_clusters(job, rows),
    )


def _facets(
    job: Job, measure: SettledMeasure, rows: pd.DataFrame, estimate: Callable[[pd.DataFrame], Estimate | None]
) -> tuple[dict[str, dict[str, Estimate]], list[str]]:
    """Estimate a measure for each level of its facets."""
    found: dict[str, dict[str, Estimate]] = {}
    notes = []
    of_prompts = sorted({facet for prompt in job.prompts for facet in prompt.facets})
    wanted = (name for facet in measure.facets for name in (of_prompts if facet == "*" else [facet]))
    for facet in dict.fromkeys(wanted):
        if facet not in rows or rows[facet].isna().all():
            continue
        levels = rows.groupby(facet, observed=True, sort=False)
        if len(levels) > MOST_LEVELS:
            notes.append(f"{measure.name} by {facet}: {len(levels)} levels, see measurements.csv")
            continue
        estimates = {str(level): estimate(part) for level, part in levels}
        found[facet] = {level: e for level, e in estimates.items() if e is not None}
    return found, notes


def _clusters(way: Way, rows: pd.DataFrame) -> _Clusters:
    strata = way.instance.strata
    return {
        "prompt": rows["cluster"].cat.codes.to_numpy(),
        # values of a prompt, which may stand among those of its images, have none
        "seed": rows["seed"].cat.codes.to_numpy() if "seed" in rows and rows["seed"].notna().all() else None,
        # where each prompt has noise of its own, seeds have nothing in common
        "crossed": way.instance.crossed and way.noise == "shared",
        "strata": rows[strata].cat.codes.to_numpy() if strata and strata in rows else None,
    }


def _aggregate_rows(way: Way, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that the metric's own scores are made of."""
    names = way.instance.aggregates
    return table if names is None else table[table["measure"].isin(names)]


def _statistic(way: Way, table: pd.DataFrame) -> Statistic:
    """The metric's own scores as a function of weights, of which rows without any have none."""
    if table.empty:
        return lambda _: {}

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        with guard_plugin(way.metric, "to aggregate its rows"):
            found = way.instance.aggregate(table, weights)
            if not isinstance(found, Mapping):
                raise TypeError(f"gave {type(found).__name__} where scores by name were asked for")
            return found

    return statistic


def _own(job: Job, table: pd.DataFrame, interval: Question) -> tuple[dict[str, Estimate], set[str]]:
    """One model's scores that are no plain means, and the measures that have no score over all rows."""
    with guard_plugin(job.metric, "to form intervals"):
        formed = dict(job.instance.estimates(table, partial(_mean_of_any, job, interval)))
        said = {name: estimate for name, estimate in formed.items() if estimate is not None}
        strange = next((e for e in said.values() if not isinstance(e, Estimate)), None)
        if strange is not None:
            raise TypeError(f"gave {type(strange).__name__} where an Estimate was asked for")
    return {**_aggregated(job, table, interval, but=formed), **said}, set(formed) - set(said)


def _mean_of_any(job: Job, interval: Question, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
    """The mean of rows of one measure, whichever it is."""
    (name,) = rows["measure"].unique()
    return _mean(job, next(m for m in job.measures if m.name == name), interval, rows, level)


def _aggregated(
    job: Job, table: pd.DataFrame, interval: Question, but: Collection[str] = ()
) -> dict[str, Estimate]:
    """The scores that are no plain means, resampled, `but` those that have intervals already."""
    table = _aggregate_rows(job, table)
    whole = _statistic(job, table)
    names = set(whole(np.ones(len(table)))) - set(but)
    if not names:
        return {}
    ranges = {m.name: (m.low, m.high) for m in job.measures if m.name in names}

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        return {name: value for name, value in whole(weights).items() if name not in but}

    return statistic_intervals(statistic, interval=interval, ranges=ranges, **_clusters(job, table))


def _one_each(way: Way, rows: pd.DataFrame, labels: Sequence[str], name: str) -> Statistic:
    """One score of each of several models, under the same weights."""
    own = [(label, (rows["model"] == label).to_numpy()) for label in labels]
    parts = [(label, mask, rows[mask]) for label, mask in own]
    statistics = [(label, mask, _statistic(way, part)) for label, mask, part in parts]
    return lambda weights: {label: statistic(weights[mask])[name] for label, mask, statistic in statistics}


def shared(table: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """The rows of two models whose prompt (and seed, or all seeds that a value is made of) both have."""
    table = table[table["model"].isin([a, b])]
    cell = [c for c in ("prompt", "seed", "seeds") if c in table and not table[c].isna().all()]
    both = table.groupby(cell, observed=True, dropna=False)["model"].transform("nunique") == 2
    return table[both]


def _samples(rows: pd.DataFrame) -> int:
    """How many samples rows are about; prompts, where those are measured as a whole."""
    if "seed" in rows and rows["seed"].notna().any():
        return len(rows.dropna(subset="seed")[["prompt", "seed"]].drop_duplicates())
    return int(rows["prompt"].nunique())


def _paired(
    way: Way, measure: SettledMeasure, rows: pd.DataFrame, labels: tuple[str, str], interval: Question
) -> Comparison | None:
    """Pair the cells of two models; a cell with several rows counts with their mean."""
    rows = rows[rows["measure"] == measure.name]
    if rows.empty:
        return None
    # values of prompts may stand among those of images, which alone have seeds
    cell = [c for c in ("prompt", "cluster", "seed", way.instance.strata) if c and c in rows]
    cell = [c for c in cell if not rows[c].isna().all()]
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
        **_clusters(way, wide),
    )


def _left_out(table: pd.DataFrame, measure: str) -> tuple[float, pd.Series[float]]:
    """A set's value on all images, and its values without each block."""
    rows = table[table["measure"] == measure].set_index("left_out")["value"]
    return float(rows["none"]), rows.drop("none")


def _jackknifed(job: Job, table: pd.DataFrame) -> dict[str, Estimate]:
    scores = {}
    for measure in job.measures:
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


def _jackknifed_difference(way: Way, table: pd.DataFrame, a: str, b: str) -> Comparison | None:
    """Compare two sets by leaving the same blocks of images out of both."""
    name = way.measures[0].name
    both = [table[(table["model"] == m) & (table["measure"] == name)] for m in (a, b)]
    if len({seeds for rows in both for seeds in rows["seeds"].dropna()}) != 1:
        return None  # sets of different images: a difference would be one of size too
    (full_a, parts_a), (full_b, parts_b) = (_left_out(rows, name) for rows in both)
    parts = (parts_a - parts_b).dropna()
    if len(parts) < 2:
        return None
    e = block_jackknife(full_a - full_b, list(parts))
    p = 2 * float(stdtr(e.df, -abs(e.value) / e.se)) if e.se else float(e.value == 0)
    return Comparison(e.value, e.lo, e.hi, p, len(parts), e.method, e.question, e.n_clusters, e.df, e.se, e.notes)
