"""Everything on a page about a run itself: its judges, method and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.resolver import Resolver
from t2i_core.results.analysis import StoredMetrics
from t2i_core.results.run import Run

from .citation import Citation, cite_run
from .judges import ReadJudge, read_judges
from .method import Method, describe_method
from .metric_results import MetricResults, find_tasks, group_results


@dataclass(frozen=True)
class ReportedRun:
    """A run, its judges, method and references.

    Attributes:
        name: Name of the run.
        run: The run.
        judges: The judges.
        method: How it was measured.
        citation: Command and references.
    """

    name: str
    run: Run
    judges: Sequence[ReadJudge]
    method: Method
    citation: Citation


def record_run(name: str, run: Run, groups: Sequence[MetricResults], resolver: Resolver[Any]) -> ReportedRun:
    """Return the record of a run.

    Args:
        name: Name of the run.
        run: The run.
        groups: Its results by metric.
        resolver: Finds the judges.
    """
    return ReportedRun(name, run, read_judges(run, resolver), describe_method(run), cite_run(run, groups))


def group_run(run: Run, metrics: StoredMetrics) -> list[MetricResults]:
    """Return the results of a run by metric."""
    infos = {name: made.info for name, made in metrics.made.items()}
    return group_results(run.results, run.comparisons, settle_measures(metrics), infos, find_tasks(run))


def settle_measures(metrics: StoredMetrics) -> Mapping[str, tuple[SettledMeasure, ...]]:
    """Return the measures of each installed metric, with their bounds as numbers."""
    return {
        name: tuple(measure.settled(made.options) for measure in made.info.measures)
        for name, made in metrics.made.items()
    }
