"""The results of one metric as the page reads them: its models, corrected by people where that is possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.results.pair_verdict import PairVerdict, find_verdict
from t2i_core.results.result import Comparison, Result, list_bound_labels, make_title
from t2i_core.results.run import Run
from t2i_core.results.verdict import Standing, rank_models


@dataclass(frozen=True)
class MetricResults:
    """The results of one metric, by one panel of judges.

    Attributes:
        title: The metric, with the judges if the run measures it with several.
        results: The result of each compared model, corrected by people's labels if `is_corrected`.
        comparisons: The comparisons of these models, corrected likewise.
        bounds: The results of models that only give an upper bound.
        measures: The measures of the metric, the headline first; empty if it is not installed.
        info: The descriptor of the metric; None if it is not installed.
        tasks: Names of the measures that are about a part of the prompts only.
        is_corrected: True if people's labels correct every score.
        shared_prompts: Number of prompts that the models of different runs share; None if they are of one run.
    """

    title: str
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...]
    bounds: tuple[Result, ...] = ()
    measures: tuple[SettledMeasure, ...] = ()
    info: MetricInfo | None = None
    tasks: frozenset[str] = frozenset()
    is_corrected: bool = False
    shared_prompts: int | None = None

    @property
    def scored(self) -> tuple[Result, ...]:
        """The results that have a score."""
        return tuple(result for result in self.results if result.score is not None)

    @property
    def name(self) -> str:
        """The title, with the name of the headline measure if that says more."""
        return self.results[0].headline if self.results else self.title

    @property
    def higher_is_better(self) -> bool | None:
        """True if a higher headline score is better, False if a lower one; None if neither is."""
        return self.results[0].higher_is_better if self.results else None

    @property
    def direction(self) -> str:
        """`higher is better` or `lower is better`; empty if neither is."""
        return {True: "higher is better", False: "lower is better", None: ""}[self.higher_is_better]

    @property
    def headline(self) -> SettledMeasure | None:
        """The headline measure; None if the metric is not installed."""
        return self.measures[0] if self.measures else None

    @property
    def labels(self) -> list[str]:
        """The labels of the models that have a score."""
        return [result.label for result in self.scored]

    @property
    def models(self) -> str:
        """The number of models in words; of settings, if they are one model under several."""
        n = len(self.scored)
        if n > 1 and is_sweep(self.scored):
            return f"{n} settings of {self.scored[0].model}"
        return f"{n} models"

    @property
    def is_single(self) -> bool:
        """True if one model has a score."""
        return len(self.scored) == 1

    @property
    def standings(self) -> list[Standing]:
        """The models with the ranks that each may have, the best first."""
        return rank_models(self.scored, self.comparisons)

    def find_verdict(self, a: str, b: str) -> PairVerdict:
        """Return the verdict on two of the models."""
        return find_verdict(self.comparisons, a, b, self.higher_is_better)

    def find_measure(self, name: str) -> SettledMeasure | None:
        """Return a measure of the metric by its name; None if it has none of this name."""
        return next((measure for measure in self.measures if measure.name == name), None)


def group_results(
    results: Iterable[Result],
    comparisons: Sequence[Comparison],
    measures: Mapping[str, tuple[SettledMeasure, ...]],
    infos: Mapping[str, MetricInfo],
    tasks: Mapping[str, frozenset[str]],
) -> list[MetricResults]:
    """Return the results of each metric and panel of judges.

    Args:
        results: The results of a run.
        comparisons: Its comparisons.
        measures: The measures of each installed metric, by the metric's name in the results.
        infos: The descriptors of the same metrics.
        tasks: The measures of each title that are about a part of the prompts only, as `find_tasks` has them.
    """
    results = list(results)
    bounds = list_bound_labels(results)
    by_title: dict[str, list[Result]] = {}
    for result in results:
        by_title.setdefault(result.title, []).append(result)
    return [
        _correct(
            MetricResults(
                title,
                tuple(each for each in own if each.label not in bounds),
                tuple(each for each in comparisons if each.title == title),
                tuple(each for each in own if each.label in bounds),
                measures.get(own[0].metric, ()),
                infos.get(own[0].metric),
                tasks.get(title, frozenset()),
            )
        )
        for title, own in by_title.items()
    ]


def is_sweep(results: Sequence[Result]) -> bool:
    """Return whether all results are of one model, under several settings."""
    return len({each.model for each in results}) == 1 and any(each.settings for each in results)


def _correct(group: MetricResults) -> MetricResults:
    """Return the corrected results of a metric; the same results unless all scores are corrected."""
    fixed = [each.correction for each in group.scored]
    if not fixed or any(each is None or each.value is None for each in fixed):
        return group
    results = [
        each.model_copy(
            update={
                "score": each.correction.value,
                "ci": each.correction.ci,
                "signature": each.correction.signature or each.signature,
            }
        )
        for each in group.scored
        if each.correction is not None
    ]
    comparisons = [
        each.model_copy(
            update={
                "diff": each.correction.value,
                "ci": each.correction.ci or (None, None),
                "p_adjusted": each.correction.p_adjusted,
                "p_unadjusted": each.correction.p_unadjusted,
                "needed": None,
            }
        )
        for each in group.comparisons
        if each.correction is not None and each.correction.value is not None
    ]
    unscored = [each for each in group.results if each.score is None]
    return replace(group, results=(*results, *unscored), comparisons=tuple(comparisons), is_corrected=True)


def find_tasks(run: Run) -> dict[str, frozenset[str]]:
    """Return the measures that are about a part of a metric's prompts only, by the metric's title."""
    if "measurements.csv" not in run.manifest.files:
        return {}
    table = run.measurements()
    if "prompt" not in table:
        return {}
    found: dict[str, frozenset[str]] = {}
    by = table["by"].fillna("") if "by" in table else pd.Series("", table.index)
    for (metric, judges), rows in table.groupby(["metric", by.rename("judges")], sort=False, observed=True):
        counts = rows.groupby("measure", observed=True)["prompt"].nunique()
        partial = counts[counts < rows["prompt"].nunique()].index
        found[make_title(str(metric), str(judges) or None)] = frozenset(map(str, partial))
    return found
