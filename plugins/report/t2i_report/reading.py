"""Meaning and limits of each metric, in the words of its plugin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2i_core.api.metric_output import Measure

from .metric_results import MetricResults


@dataclass(frozen=True)
class MetricReading:
    """Meaning and limits of a metric.

    Attributes:
        metric: The metric.
        summary: What it measures, in one line.
        meaning: What its score says; empty if its plugin does not say it.
        limits: What it does not see; empty likewise.
        measures: Its measures.
    """

    metric: str
    summary: str
    meaning: str
    limits: str
    measures: Sequence[Measure]


def read_metrics(groups: Sequence[MetricResults]) -> list[MetricReading]:
    """Return the meaning and limits of each installed metric."""
    found: dict[str, MetricReading] = {}
    for group in groups:
        if group.info is not None and group.results:
            about = group.info.about
            metric = group.results[0].metric
            found[metric] = MetricReading(metric, group.info.summary, about.meaning, about.limits, group.measures)
    return list(found.values())
