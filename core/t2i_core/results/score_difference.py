"""Headline scores computed from rows, and the difference of two models' scores.

An evaluation and a comparison of stored runs share these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypedDict

import numpy as np
import pandas as pd
import scipy  # its `special` is imported when it is first used
from numpy.typing import NDArray

from ..api.metric import Metric, PairMetric, SetMetric, TableMetric
from ..api.metric_output import SettledMeasure
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import MetricInfo
from ..api.prompt import RESERVED
from ..api.resolver import ResolvedComponent
from ..statistics import (
    Crossing,
    PairedDifference,
    Question,
    block_jackknife,
    limit_difference,
    paired_difference,
    statistic_differences,
)

Statistic = Callable[[NDArray[np.float64]], Mapping[str, float]]
"""Scores by name as a function of the rows' weights."""


class Scoring(Protocol):
    """Rules that turn rows into scores, those of a job or of a stored run."""

    @property
    def metric(self) -> ResolvedComponent[MetricInfo]:
        """The metric that measured the rows."""
        ...

    @property
    def instance(self) -> Metric:
        """The created metric."""
        ...

    @property
    def measures(self) -> tuple[SettledMeasure, ...]:
        """Its measures, the headline first."""
        ...

    @property
    def shares_seeds(self) -> bool:
        """True if images of one seed have something in common, whatever their prompts."""
        ...


@dataclass(frozen=True)
class StoredScoring:
    """The metric and settings that compute scores from the rows of a stored run. See `Scoring`."""

    metric: ResolvedComponent[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    shares_seeds: bool = True


def make_stored_scoring(metric: ResolvedComponent[MetricInfo]) -> StoredScoring:
    """Create a metric of a stored run again, with the bounds of its measures."""
    with guard_plugin(metric, "to be made"):
        instance = metric.info.create(metric.setup())
    with guard_plugin(metric, "to say the bounds of its measures"):
        measures = tuple(measure.settled(metric.options) for measure in metric.info.measures)
    return StoredScoring(metric, instance, measures)


class Clusters(TypedDict):
    """The clusters to resample, as arguments of the statistics.

    Attributes:
        prompt: Cluster of each row's prompt, shape (n,).
        seed: Seed of each row, or the person who answered, shape (n,); None if rows have no seeds.
        crossed: True if prompts share their seeds; `annotators` if `seed` names people.
        strata: Category of each row's prompt, shape (n,); None if prompts were not drawn by category.
    """

    prompt: NDArray[Any]
    seed: NDArray[Any] | None
    crossed: Crossing
    strata: NDArray[Any] | None


def compare_headlines(
    scoring: Scoring, a: str, b: str, table: pd.DataFrame, same: Collection[str], interval: Question
) -> PairedDifference | None:
    """Compare two models' headline scores, a - b, neither measured in pairs.

    Args:
        scoring: The rules of both.
        a: Label of the first model.
        b: Label of the second model.
        table: The rows of both; every column except `value` is categorical.
        same: Ids of the prompts that are the same for both.
        interval: The question that the interval answers.

    Returns:
        The difference; None if they share no samples.
    """
    if table.empty or not {a, b} <= set(table["model"].unique()):
        return None
    if isinstance(scoring.instance, SetMetric):
        return _jackknife_difference(scoring, table, a, b)
    headline = scoring.measures[0]
    rows = select_shared(table[table["prompt"].isin(same)], a, b)
    if rows.empty:
        return None
    own = select_aggregated(scoring, rows)
    if headline.name in make_statistic(scoring, own)(np.ones(len(own))):
        statistic = _score_each(scoring, own, (a, b), headline.name)
        found = statistic_differences(
            statistic,
            [(a, b)],
            interval=interval,
            low=headline.low,
            high=headline.high,
            **find_clusters(scoring, own),
        )[a, b]
        return replace(found, n=_count_samples(own))  # a sample has a row of each measure and model
    return _pair_cells(scoring, headline, rows, (a, b), interval)


def compute_headline(scoring: Scoring, table: pd.DataFrame) -> float:
    """Return a model's headline score, computed from its rows; NaN if it has none. Not for metrics of pairs."""
    headline = scoring.measures[0].name
    if isinstance(scoring.instance, SetMetric):
        return split_left_out(select_whole_sets(table[table["measure"] == headline]))[0]
    own = select_aggregated(scoring, table)
    aggregated = make_statistic(scoring, own)(np.ones(len(own)))
    if headline in aggregated:
        return aggregated[headline]
    return float(table.loc[table["measure"] == headline, "value"].mean())


def select_shared(table: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return the rows of two models whose prompt (and seed, or all seeds of a value) both have."""
    table = table[table["model"].isin([a, b])]
    cell = [c for c in ("prompt", "seed", "seeds") if c in table and not table[c].isna().all()]
    both = table.groupby(cell, observed=True, dropna=False)["model"].transform("nunique") == 2
    return table[both]


def find_clusters(scoring: Scoring, rows: pd.DataFrame) -> Clusters:
    """Return the clusters to resample, as arguments of the statistics."""
    metric, strata = scoring.instance, scoring.instance.strata
    crossed: Crossing = scoring.shares_seeds
    crossing = "seed"
    if isinstance(metric, PairMetric):
        crossed = crossed and metric.crossed
        if metric.raters is not None and metric.raters in rows and rows[metric.raters].notna().all():
            crossed, crossing = "annotators", metric.raters
    return {
        "prompt": rows["cluster"].cat.codes.to_numpy(),
        # values of a prompt, which the table may hold besides those of its images, have no seed
        "seed": rows[crossing].cat.codes.to_numpy() if crossing in rows and rows[crossing].notna().all() else None,
        "crossed": crossed,
        "strata": rows[strata].cat.codes.to_numpy() if strata and strata in rows else None,
    }


def describe_unshared_seeds(name: str, why: str) -> str:
    """Return a note on a model whose images of one seed have nothing in common."""
    return f"{name}: {why}, so seeds are not crossed with prompts"


def select_aggregated(scoring: Scoring, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows from which the metric computes its own scores."""
    names = scoring.instance.aggregates if isinstance(scoring.instance, TableMetric) else None
    return table if names is None else table[table["measure"].isin(names)]


def make_statistic(scoring: Scoring, table: pd.DataFrame) -> Statistic:
    """Return the metric's own scores as a function of the rows' weights; without rows there are no scores."""
    if table.empty:
        return lambda _: {}

    instance = scoring.instance
    with guard_plugin(scoring.metric, "to aggregate its rows"):
        prepared = instance.prepare(table) if isinstance(instance, TableMetric) else table

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        try:  # entering the guard thousands of times would take as long as many metrics do
            found = instance.aggregate(prepared, weights)
            if not isinstance(found, Mapping):
                raise TypeError(f"gave {type(found).__name__}; it must give scores by name")
        except BaseException:
            with guard_plugin(scoring.metric, "to aggregate its rows"):
                raise
        return found

    return statistic


def select_whole_sets(table: pd.DataFrame, by: str | None = None) -> pd.DataFrame:
    """Return the rows of whole sets, also without one of their blocks; leave out those of the levels of facets.

    Args:
        table: Rows of a `SetMetric`, which have a facet only if they are about one of its levels.
        by: A facet whose levels are kept.
    """
    facets = [column for column in table.columns if column not in {*RESERVED, by}]
    return table[table[facets].isna().all(axis=1)]


def find_question(instance: Metric) -> str:
    """Return the question that the interval of a set's score answers."""
    whole_prompts = isinstance(instance, SetMetric) and instance.whole_prompts
    return "new prompts of this kind" if whole_prompts else "new images of this model"


def split_left_out(rows: pd.DataFrame) -> tuple[float, pd.Series[float]]:
    """Return a set's value on all images, and its values without each block.

    Args:
        rows: The rows of one measure and one set: a model's whole set, or a level of a facet.
    """
    values = rows.set_index("left_out")["value"]
    return float(values["none"]), values.drop("none")


def _score_each(scoring: Scoring, rows: pd.DataFrame, labels: Sequence[str], name: str) -> Statistic:
    """Return a function of weights that gives one score for each of several models."""
    own = [(label, (rows["model"] == label).to_numpy()) for label in labels]
    parts = [(label, mask, rows[mask]) for label, mask in own]
    statistics = [(label, mask, make_statistic(scoring, part)) for label, mask, part in parts]
    return lambda weights: {label: statistic(weights[mask])[name] for label, mask, statistic in statistics}


def _count_samples(rows: pd.DataFrame) -> int:
    """Return the number of samples that rows are about; of prompts, if those are measured as a whole."""
    if "seed" in rows and rows["seed"].notna().any():
        return len(rows.dropna(subset="seed")[["prompt", "seed"]].drop_duplicates())
    return int(rows["prompt"].nunique())


def _pair_cells(
    scoring: Scoring, measure: SettledMeasure, rows: pd.DataFrame, labels: tuple[str, str], interval: Question
) -> PairedDifference | None:
    """Pair the cells of two models; the rows of one cell are averaged."""
    rows = rows[rows["measure"] == measure.name]
    if rows.empty:
        return None
    # values of prompts, which have no seeds, may be mixed with those of images
    cell = [c for c in ("prompt", "cluster", "seed", scoring.instance.strata) if c and c in rows]
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
        **find_clusters(scoring, wide),
    )


def _jackknife_difference(scoring: Scoring, table: pd.DataFrame, a: str, b: str) -> PairedDifference | None:
    """Compare two sets by leaving the same blocks of images out of both."""
    name = scoring.measures[0].name
    table = select_whole_sets(table[table["measure"] == name])
    both = [table[table["model"] == m] for m in (a, b)]
    if len({seeds for rows in both for seeds in rows["seeds"].dropna()}) != 1:
        return None  # sets of different images: their difference would depend on their sizes too
    (full_a, parts_a), (full_b, parts_b) = map(split_left_out, both)
    parts = (parts_a - parts_b).dropna()
    if len(parts) < 2:
        return None
    low, high = limit_difference(scoring.measures[0].low, scoring.measures[0].high)
    e = block_jackknife(full_a - full_b, list(parts), low=low, high=high, question=find_question(scoring.instance))
    if e.df is None or not e.se:
        return None  # no variation: nothing can be said about other images
    p = 2 * float(scipy.special.stdtr(e.df, -abs(e.value) / e.se))
    return PairedDifference(
        e.value, e.lo, e.hi, p, len(parts), e.method, e.question, e.n_clusters, e.df, e.se, e.notes
    )
