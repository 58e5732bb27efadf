"""Estimates of scores, facets and comparisons, each with its interval, from the measurement table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pandas as pd

from ..api.facet_levels import locate_levels
from ..api.metric import SetMetric, TableMetric
from ..api.metric_output import SettledMeasure
from ..api.options import select_result_options
from ..api.plugin_guard import guard_plugin
from ..results.score_difference import compare_headlines
from ..results.score_estimates import (
    estimate_mean,
    estimate_model_scores,
    estimate_own_scores,
    estimate_pair_scores,
    estimate_set,
)
from ..statistics import Estimate, PairedDifference, Question
from .common_prompts import identify_prompt
from .facets import MOST_LEVELS, count_levels, list_facets
from .job import Job
from .model_list import uses_models

Facets = Mapping[str, Mapping[str, Mapping[str, Estimate]]]
LevelT = TypeVar("LevelT")


@dataclass(frozen=True)
class Scores:
    """The scores of one model under one metric.

    Attributes:
        scores: Estimates by name, the headline first.
        facets: Estimates by measure, facet and level.
        notes: Facets that are left out, in words.
    """

    scores: Mapping[str, Estimate]
    facets: Facets
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> Estimate | None:
        """The headline score; None without any score."""
        return next(iter(self.scores.values()), None)


def estimate_scores(job: Job, table: pd.DataFrame, interval: Question) -> dict[str, Scores]:
    """Return each model's scores by label.

    Args:
        job: The job.
        table: All rows of the job.
        interval: The question that the intervals answer.
    """
    if table.empty:
        return {model.label: Scores({}, {}) for model in job.models}
    if job.pairs:
        return _estimate_pairs(job, table, interval)
    (model,) = job.models
    found = estimate_model_scores(job, table, interval)
    facets, notes = {}, []
    for measure in job.measures:
        rows = table[table["measure"] == measure.name]
        estimate: Callable[[pd.DataFrame], Estimate | None]
        if measure.name in found.own:
            rows, estimate = table, partial(_aggregate_one, job, measure, interval)
        elif isinstance(job.instance, SetMetric):
            estimate = partial(estimate_set, job, measure)
        else:
            estimate = partial(estimate_mean, job, measure, interval)
        if len(rows):
            facets[measure.name], more = _estimate_facets(job, measure, rows, estimate)
            notes += more
        if isinstance(job.instance, SetMetric):
            notes += _note_unmeasured(job, measure)
    return {model.label: Scores(found.scores, {m: f for m, f in facets.items() if f}, tuple(notes))}


def _estimate_pairs(job: Job, table: pd.DataFrame, interval: Question) -> dict[str, Scores]:
    """Return each model's scores under a metric of pairs, overall and from the rows of each level alone."""
    labels = [model.label for model in job.models]
    found = estimate_pair_scores(job, labels, table, interval)
    headline = job.measures[0]
    others = {name: estimate for name, estimate in found.items() if name not in labels}
    levels, notes = _estimate_facets(job, headline, table, partial(_estimate_level, job, interval))
    scores = {}
    for label in labels:
        own = {
            facet: {level: estimates[label] for level, estimates in of.items() if label in estimates}
            for facet, of in levels.items()
        }
        facets = {headline.name: {facet: of for facet, of in own.items() if of}}
        scores[label] = Scores(
            {headline.name: found[label], **others} if label in found else {},
            facets if any(facets.values()) else {},
            tuple(notes),
        )
    return scores


def _estimate_level(job: Job, interval: Question, rows: pd.DataFrame) -> dict[str, Estimate]:
    """Return the scores from the rows of one level, with the metric's remarks about these rows."""
    remarks: list[str] = []
    if isinstance(job.instance, TableMetric):
        with guard_plugin(job.metric, "to say what must be known of its rows"):
            remarks = [note.text for note in job.instance.remarks(rows)]
    found = estimate_pair_scores(job, [model.label for model in job.models], rows, interval)
    return {name: estimate.with_notes(*remarks) for name, estimate in found.items()}


def find_incomparable(a: Job, b: Job) -> str | None:
    """Return why two models' scores cannot be compared, because of how they were measured; None if they can."""
    if not uses_models(a.instance):
        return "the metric uses no model"
    if select_result_options(a.metric.options) != select_result_options(b.metric.options):
        return "the metric's options differ"
    judges = [
        [(s.need.name, s.need.capability, s.choice.judge.fingerprint) for s in job.needs if s.choice is not None]
        for job in (a, b)
    ]
    return "their judges differ" if judges[0] != judges[1] else None


def find_shared_prompts(a: Job, b: Job) -> set[str]:
    """Return the ids of the prompts that two jobs have in common."""
    theirs = set(map(identify_prompt, b.prompts))
    return {prompt.id for prompt in a.prompts if identify_prompt(prompt) in theirs}


def compare(
    job: Job, other: Job, a: str, b: str, table: pd.DataFrame, interval: Question
) -> PairedDifference | None:
    """Compare two models' headline scores, a - b, on the prompts and seeds that both have.

    Args:
        job: The job that measured a, not in pairs.
        other: The job that measured b.
        a: Label of the first model.
        b: Label of the second model.
        table: The rows of both.
        interval: The question that the interval answers.

    Returns:
        The difference; None if they share no samples, or one has no score.
    """
    same = find_shared_prompts(job, other)
    scoring = other if job.shares_seeds else job  # crossed by seed only if both models share their seeds
    return compare_headlines(scoring, a, b, table, same, interval)


def _aggregate_one(job: Job, measure: SettledMeasure, interval: Question, rows: pd.DataFrame) -> Estimate | None:
    return estimate_own_scores(job, rows, interval)[0].get(measure.name)


def _estimate_facets(
    job: Job, measure: SettledMeasure, rows: pd.DataFrame, estimate: Callable[[pd.DataFrame], LevelT | None]
) -> tuple[dict[str, dict[str, LevelT]], list[str]]:
    """Estimate a measure for each level of its facets."""
    found: dict[str, dict[str, LevelT]] = {}
    notes = []
    for facet in list_facets([measure], job.prompts):
        if facet not in rows or rows[facet].isna().all():
            continue
        levels = locate_levels(rows[facet])
        if len(levels) > MOST_LEVELS:
            notes.append(f"{measure.name} by {facet}: {len(levels)} levels, see measurements.csv")
            continue
        estimates = {str(level): estimate(rows.iloc[own]) for level, own in levels.items()}
        found[facet] = {level: e for level, e in estimates.items() if e is not None}
    return found, notes


def _note_unmeasured(job: Job, measure: SettledMeasure) -> Iterator[str]:
    """Yield a note on each facet of a measure of sets that has too many levels."""
    for facet in list_facets([measure], job.prompts):
        if (count := count_levels(facet, job.prompts)) > MOST_LEVELS:
            yield f"{measure.name} by {facet}: {count} levels, more than {MOST_LEVELS}, are not measured"
