"""Paired comparison of two models of stored runs, on the samples that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isclose

import pandas as pd

from ..api.metric import SetMetric
from ..api.metric_output import SettledMeasure
from ..api.plugin_info import MetricInfo
from ..api.prompt import Prompt
from ..api.resolver import ResolvedComponent
from ..statistics import PairedDifference
from ..storage.run_files import PROMPTS
from .comparability import explain_not_comparable
from .compared_model import ComparedModel, categorize, find_scored_result, read_texts, select_rows
from .needed_sample import make_sample_need
from .numbers import make_interval, make_number
from .pair_verdict import LEVEL
from .result import Comparison, Result, make_title
from .run_comparisons import DRAWN_BY_DIFFERENCE, describe_stop, draws_by_difference, find_run_comparison
from .score_difference import (
    compare_headlines,
    compute_headline,
    describe_unshared_seeds,
    make_stored_scoring,
    select_shared,
)
from .shown_measure import choose_measure, list_alike

_NOTHING = (None, ())
"""Fields of a prompt that state nothing."""


@dataclass(frozen=True)
class MetricComparison:
    """Comparison of two models under one metric.

    Attributes:
        metric: Name of the metric.
        measure: Its headline measure.
        found: Difference of the headline, a - b; None if the models cannot be compared.
        why: Why they cannot be compared.
        rows: Values of the headline, or of the measure that stands for it, on the samples that both have: one row
            per model and cell, with the columns prompt, seed (if images are measured one by one), model (names of
            the comparison) and value.
        measures: All measures of the metric.
        info: The descriptor of the metric; None if the models cannot be compared.
        results: The result of each model in its run, under its name in the comparison.
        of_run: The run's own comparison, a - b, if both models are of one run that stopped early.
    """

    metric: str
    measure: SettledMeasure
    found: PairedDifference | None
    why: str
    rows: pd.DataFrame
    measures: tuple[SettledMeasure, ...] = ()
    info: MetricInfo | None = None
    results: tuple[Result, ...] = ()
    of_run: Comparison | None = None

    @property
    def notes(self) -> list[str]:
        """The notes for readers of `to_comparison`."""
        if self.of_run is not None and (stop := describe_stop(self.of_run)) is not None:
            return [stop]
        return [] if self.found is None else list(self.found.notes)

    def to_comparison(self, a: str, b: str) -> Comparison | None:
        """Return the difference as an evaluation of both models has it; None if they cannot be compared.

        That of a run that stopped early is the run's own.

        Args:
            a: Name of the first model.
            b: Name of the second model.
        """
        found = self.found
        if found is None:
            return None
        if self.of_run is not None:
            return self.of_run.model_copy(update={"metric": self.metric, "by": None, "a": a, "b": b})
        p = make_number(found.p)
        return Comparison(
            metric=self.metric,
            a=a,
            b=b,
            diff=make_number(found.diff),
            ci=make_interval(found),
            p_adjusted=p,  # the only comparison under this metric
            p_unadjusted=p,
            n=found.n,
            interval=f"{found.method}; {found.question}",
            needed=None if found.p < LEVEL else make_sample_need(found, self.measure),
        )


Judges = tuple[str | None, str | None]
"""The judges by which each of two models is measured (`Result.by`)."""


def match_judges(a: ComparedModel, b: ComparedModel, metric: str) -> list[Judges]:
    """Return the judges under whose results two models are compared: the same ones, where a run has several.

    If no judges are the same, the first of each run are returned, whose comparison says that they differ.
    """
    theirs = [
        {
            r.by: [(judge.need, judge.capability, judge.name) for judge in r.judges]
            for r in side.run.results
            if r.metric == metric
        }
        for side in (a, b)
    ]
    same = [(by, other) for by, own in theirs[0].items() for other, its in theirs[1].items() if own == its]
    return same or [(next(iter(theirs[0])), next(iter(theirs[1])))]


def compare_metric(
    a: ComparedModel, b: ComparedModel, metric: ResolvedComponent[MetricInfo], judges: Judges = (None, None)
) -> MetricComparison:
    """Compare two models under a metric that both runs have, by the rules of an evaluation.

    A prompt is shared if its id and its text are the same in both runs, which do not expect different things.
    """
    a, b = (replace(side, by=by) for side, by in zip((a, b), judges, strict=True))
    title = make_title(metric.spec, judges[0] or judges[1])
    made = make_stored_scoring(metric)
    instance, measures = made.instance, made.measures
    nothing = pd.DataFrame(columns=["prompt", "model", "value"])
    why = explain_not_comparable(a, b, metric, instance)
    if why is not None:
        return MetricComparison(title, measures[0], None, why, nothing)
    request = a.run.manifest.request
    notes = [
        describe_unshared_seeds(side.name, side.unshared_seeds)
        for side in (a, b)
        if side.unshared_seeds is not None and request.noise == "shared" and not isinstance(instance, SetMetric)
    ]
    scoring = replace(made, shares_seeds=request.noise == "shared" and not notes)
    of_run = None
    if _has_stopped_early(a, b):
        of_run = find_run_comparison(a.run, (a.label, b.label), metric.spec, a.by)
        notes.append("the run stopped early, and this comparison counts one look only: take that of the run")
    if a.run.folder != b.run.folder and (draws_by_difference(a.run) or draws_by_difference(b.run)):
        notes.append(f"{DRAWN_BY_DIFFERENCE}, which this interval and p-value do not take into account")
    table = categorize(pd.concat([select_rows(side, metric.spec) for side in (a, b)], ignore_index=True))
    for side, result in ((each, find_scored_result(each, metric)) for each in (a, b)):
        own = table[table["model"] == side.name]
        if (
            result is not None
            and result.score is not None
            and not isclose(again := compute_headline(scoring, own), result.score, rel_tol=1e-6, abs_tol=1e-9)
        ):
            why = f"the rows of {side.name} give the score {again:.6g}, but its run records {result.score:.6g}"
            return MetricComparison(title, measures[0], None, f"{why}; was the metric changed?", nothing)
    same = _same_prompts(a, b, table)
    found = compare_headlines(scoring, a.name, b.name, table, same, request.interval)
    if found is None:
        why = "they share no prompts with the same seeds"
        return MetricComparison(title, measures[0], None, why, nothing)
    found = replace(found, notes=(*found.notes, *notes))
    results = [find_scored_result(side, metric) for side in (a, b)]
    return MetricComparison(
        title,
        measures[0],
        found,
        "",
        _cells(table, same, measures, a, b),
        measures,
        metric.info,
        tuple(
            result.model_copy(update={"label": side.name, "correction": None})
            for side, result in zip((a, b), results, strict=True)
            if result is not None
        ),
        of_run,
    )


def _has_stopped_early(a: ComparedModel, b: ComparedModel) -> bool:
    """Return whether one run compared two models at its looks and stopped, for them, before the planned end."""
    stopping = a.run.manifest.stopping
    if a.run.folder != b.run.folder or stopping is None:
        return False
    labels = {a.label, b.label}
    looks = [n for n, look in enumerate(stopping.looks, 1) if any({p.a, p.b} == labels for p in look.pairs)]
    return bool(looks) and looks[-1] < len(stopping.plan)


def _same_prompts(a: ComparedModel, b: ComparedModel, table: pd.DataFrame) -> set[str]:
    """Return the ids of the prompts that are the same in both runs.

    Texts are unknown for metrics without images. Runs of earlier versions do not say what prompts expect.
    """
    if "prompt" not in table:
        return set()
    if a.run.folder == b.run.folder:
        return set(table["prompt"].unique())
    texts = [read_texts(side) for side in (a, b)]
    same = {id for id in table["prompt"].unique() if texts[0].get(id) == texts[1].get(id)}
    if any(PROMPTS not in side.run.manifest.files for side in (a, b)):
        return same
    first, second = ({prompt.id: prompt for prompt in side.run.prompts()} for side in (a, b))
    return {id for id in same if id not in first or id not in second or not _contradict(first[id], second[id])}


def _contradict(a: Prompt, b: Prompt) -> bool:
    """Return whether two prompts expect different things, among those that both state."""
    names = ("scene", "texts", "answer", "references", "questions")
    both = ((getattr(a, name), getattr(b, name)) for name in names)
    return any(one != other for one, other in both if one not in _NOTHING and other not in _NOTHING)


def _cells(
    table: pd.DataFrame, same: set[str], measures: Sequence[SettledMeasure], a: ComparedModel, b: ComparedModel
) -> pd.DataFrame:
    """Return the mean value by model, in each cell that both models have.

    A headline that is computed from other rows has none: then the measure on its scale with the most rows counts.
    """
    if "prompt" not in table:
        return pd.DataFrame(columns=["prompt", "model", "value"])
    shared = select_shared(table[table["prompt"].isin(same)], a.name, b.name)
    rows = shared[shared["measure"] == choose_measure(shared, measures[0].name, list_alike(measures))]
    cell = [c for c in ("prompt", "seed") if c in rows and (c == "prompt" or not rows[c].isna().all())]
    return rows.groupby([*cell, "model"], observed=True)["value"].mean().reset_index()
