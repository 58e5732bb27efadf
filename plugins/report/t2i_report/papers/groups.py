"""The results of several runs, grouped: one metric, measured in one way, with the models of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent, Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.compared_model import ComparedModel
from t2i_core.results.pair_comparison import adjust_comparisons, compare_pair
from t2i_core.results.result import Comparison, Result
from t2i_core.results.run import Run
from t2i_core.results.score_difference import make_stored_scoring
from t2i_core.results.verdict import rank_models

from ..metric_results import MetricResults, group_results
from ..names import model_names


@dataclass(frozen=True)
class GroupEntry:
    """A model in a group.

    Attributes:
        model: Its name, unique across the runs.
        run: The run that measured it.
        result: Its result.
    """

    model: str
    run: Run
    result: Result


@dataclass(frozen=True)
class PaperGroup:
    """The results of one metric under one protocol, across runs.

    Attributes:
        title: The metric, with what tells it from other groups of the same metric.
        entries: The results by model.
        measures: The measures of the metric, the headline first; empty if it is not installed.
        is_corrected: True if people's labels correct every score.
        comparisons: The comparisons of these models, by their names.
        component: The metric; None if it is not installed.
    """

    title: str
    entries: dict[str, GroupEntry]
    measures: tuple[SettledMeasure, ...]
    is_corrected: bool
    comparisons: tuple[Comparison, ...] = ()
    component: ResolvedComponent[MetricInfo] | None = field(default=None, repr=False)

    @property
    def results(self) -> list[Result]:
        """The results, labelled with the names of the models."""
        return [each.result.model_copy(update={"label": name, "by": None}) for name, each in self.entries.items()]

    @property
    def first(self) -> Result:
        """The result of its first model."""
        return next(iter(self.entries.values())).result

    @property
    def scored(self) -> list[str]:
        """The models that have a score."""
        return [model for model, each in self.entries.items() if each.result.score is not None]

    @property
    def is_tested(self) -> bool:
        """True if the headline has a direction and a test of each two models that have a score."""
        if self.first.higher_is_better is None:
            return False
        tested = {frozenset((each.a, each.b)) for each in self.comparisons if each.p_adjusted is not None}
        return all(frozenset(pair) in tested for pair in combinations(self.scored, 2))

    def find_best(self) -> str | None:
        """Return the model that is surely better than all others by the headline score; None if none is."""
        if self.first.higher_is_better is None:
            return None
        standings = rank_models(self.results, self.comparisons)
        return standings[0].label if len(standings) > 1 and standings[0].ranks == "1" else None


def collect_groups(runs: Sequence[Run], resolver: Resolver[Any]) -> list[PaperGroup]:
    """Return the results of runs by metric and protocol, in the order of the runs.

    Results belong together if their signature lines are equal; those of earlier versions, which have none, if they
    come from one run. If several runs have a model's result, the first counts.
    """
    found: dict[tuple[str, str | None, str, bool], PaperGroup] = {}
    for number, (run, names) in enumerate(zip(runs, model_names(runs), strict=True)):
        metrics = list_metrics(run, resolver)
        measures = {name: make_stored_scoring(made).measures for name, made in metrics.made.items()}
        infos = {name: made.info for name, made in metrics.made.items()}
        for own in group_results(run.results, run.comparisons, measures, infos, {}):
            compared = _rename_comparisons(own, names)
            for result in own.results:
                key = (own.title, own.results[0].by, result.signature or f"run {number}", own.is_corrected)
                group = found.setdefault(
                    key,
                    PaperGroup(
                        own.title, {}, own.measures, own.is_corrected, compared, metrics.made.get(result.metric)
                    ),
                )
                model = names[result.label]
                group.entries.setdefault(model, GroupEntry(model, run, result))
    groups = _number_titles(list(found.values()))
    return [group if _is_of_one_run(group) else replace(group, comparisons=_compare(group)) for group in groups]


def _rename_comparisons(group: MetricResults, names: dict[str, str]) -> tuple[Comparison, ...]:
    return tuple(each.model_copy(update={"a": names[each.a], "b": names[each.b]}) for each in group.comparisons)


def _number_titles(groups: Sequence[PaperGroup]) -> list[PaperGroup]:
    """Return the groups with titles that differ: `geneval (1)`, `geneval (2)`."""
    titles = [group.title for group in groups]
    return [
        replace(group, title=f"{group.title} ({titles[:number].count(group.title) + 1})")
        if titles.count(group.title) > 1
        else group
        for number, group in enumerate(groups)
    ]


def _is_of_one_run(group: PaperGroup) -> bool:
    return len({each.run.folder for each in group.entries.values()}) == 1


def _compare(group: PaperGroup) -> tuple[Comparison, ...]:
    """Return the comparisons of each two models of several runs, with p-values adjusted for all of them.

    Pairs of one run have the run's own. Pairs with a run that tests at looks have none: how many samples it has
    depends on its differences, and a test across runs would not know that.
    """
    if group.component is None or group.is_corrected:
        return ()
    sides = [
        ComparedModel(each.run, each.result.label, each.model, each.result.by) for each in group.entries.values()
    ]
    found = [compare_pair(group.component, one, other)[0] for one, other in combinations(sides, 2)]
    return tuple(adjust_comparisons([each for each in found if each is not None]))
