"""A metric of a stored run, and the units that it measured, which people may label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadFolder, BadOption, UnknownName
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent, Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.asked_people import list_asked_needs
from t2i_core.results.label_units import MeasuredUnit, average_units, choose_measure
from t2i_core.results.result import list_bound_labels
from t2i_core.results.run import Run
from t2i_core.results.score_difference import make_stored_scoring

ASKED = ("answer", "prefer")
"""The capabilities that people have."""


@dataclass(frozen=True)
class MeasuredMetric:
    """A metric of a run.

    Attributes:
        run: The run.
        metric: The metric, with the options that it had.
        instance: The metric, created again.
        measures: Its measures, the headline first, with their bounds.
        needs: What people are asked in place of its judge.
        measure: The measure whose values the units have.
        units: The units that have a value.
    """

    run: Run
    metric: ResolvedComponent[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    needs: tuple[Need, ...]
    measure: str
    units: tuple[MeasuredUnit, ...]


def read_metric(run: Run, name: str | None, resolver: Resolver[Any]) -> MeasuredMetric:
    """Return a metric of a run with the units that it measured.

    Args:
        run: The run.
        name: Name of the metric; None if the run has only one.
        resolver: Finds the metric again.

    Raises:
        UnknownName: If the run does not have the metric.
        BadOption: If no metric is named, and the run has several.
        BadFolder: If the metric measured nothing, or the run has no scores.
        NoJudge: If people cannot be asked what the metric needs.
    """
    known = list(dict.fromkeys(result.metric for result in run.results))
    if not known:
        raise BadFolder(f"{run.path}: has no scores to correct; evaluate a metric first")
    if name is None and len(known) > 1:
        raise BadOption(f"{run.path}: has several metrics; name one with --metric ({', '.join(known)})")
    name = name or known[0]
    if name not in known:
        raise UnknownName.among("metric", name, known, f"{run.path} has {', '.join(known)}")
    stored = list_metrics(run, resolver)
    if name not in stored.made:
        raise BadFolder(f"{run.path}: {name} cannot be asked about again: {stored.absent[name]}")
    metric = stored.made[name]
    scoring = make_stored_scoring(metric)
    instance, measures = scoring.instance, scoring.measures
    needs = tuple(list_asked_needs(name, instance, ASKED))
    table = run.measurements()
    table = table[table["metric"] == name]
    if "by" in table and table["by"].notna().any():  # the outcomes of one judge are enough to draw by
        table = table[table["by"] == table["by"].dropna().iloc[0]]
    table = _drop_bounds(run, name, table)
    measure = choose_measure(measures, table)
    if measure is None:
        raise BadFolder(f"{run.path}: {name} measured nothing that could be labelled")
    units = tuple(average_units(table[table["measure"] == measure]))
    return MeasuredMetric(run, metric, instance, measures, needs, measure, units)


def _drop_bounds(run: Run, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Leave out the images of upper bounds."""
    bounds = list_bound_labels(each for each in run.results if each.metric == name)
    return table[~table["model"].isin(bounds)] if "model" in table else table
