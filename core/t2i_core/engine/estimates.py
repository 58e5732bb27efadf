"""Estimates of scores, facets and comparisons, each with its interval, from the measurement table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..api.facet_levels import locate_levels
from ..api.metric import SetMetric, TableMetric
from ..api.metric_output import SettledMeasure
from ..api.options import select_result_options
from ..api.plugin_guard import guard_plugin
from ..results.score_difference import (
    compare_headlines,
    find_clusters,
    find_question,
    make_statistic,
    select_aggregated,
    select_whole_sets,
    split_left_out,
)
from ..statistics import (
    NO_VARIATION,
    Estimate,
    PairedDifference,
    Question,
    block_jackknife,
    mean_interval,
    statistic_differences,
    statistic_intervals,
)
from .common_prompts import identify_prompt
from .facets import MOST_LEVELS, count_levels, list_facets
from .job import Job
from .model_list import uses_models

Facets = Mapping[str, Mapping[str, Mapping[str, Estimate]]]
NO_INTERVAL = f"{NO_VARIATION}: no interval can be formed"
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
    if isinstance(job.instance, SetMetric):
        return {model.label: _jackknife_sets(job, table)}
    means, facets, notes = {}, {}, []
    aggregated, left_out = _estimate_own(job, table, interval)
    for measure in job.measures:
        rows = table[table["measure"] == measure.name]
        if measure.name in aggregated:
            facets[measure.name], more = _estimate_facets(
                job, measure, table, partial(_aggregate_one, job, measure, interval)
            )
            notes += more
        elif len(rows):
            mean = partial(_estimate_mean, job, measure, interval)
            if measure.name not in left_out:
                means[measure.name] = mean(rows)
            facets[measure.name], more = _estimate_facets(job, measure, rows, mean)
            notes += more
    order = [m.name for m in job.measures]
    named = {**means, **aggregated}
    ordered = sorted(named, key=lambda n: order.index(n) if n in order else len(order))
    return {
        model.label: Scores({n: named[n] for n in ordered}, {m: f for m, f in facets.items() if f}, tuple(notes))
    }


def _estimate_pairs(job: Job, table: pd.DataFrame, interval: Question) -> dict[str, Scores]:
    """Return each model's scores under a metric of pairs, overall and from the rows of each level alone."""
    found = _refuse_no_width(job, _resample_scores(job, table, interval))
    labels = [model.label for model in job.models]
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
    found = _refuse_no_width(job, _resample_scores(job, rows, interval))
    return {name: estimate.with_notes(*remarks) for name, estimate in found.items()}


def _refuse_no_width(job: Job, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Drop the intervals of no width of models' scores: a rating is not certain because all prompts agree."""
    labels = {model.label for model in job.models}
    return {
        name: replace(
            estimate,
            lo=math.nan,
            hi=math.nan,
            notes=(*(n for n in estimate.notes if not n.startswith(NO_VARIATION)), NO_INTERVAL),
        )
        if estimate.se == 0 and name in labels
        else estimate
        for name, estimate in found.items()
    }


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


def compare_pairs(job: Job, table: pd.DataFrame, interval: Question) -> dict[tuple[str, str], PairedDifference]:
    """Compare each two models with a score under a metric of pairs, all with the same weights."""
    table = select_aggregated(job, table)
    if table.empty:
        return {}
    statistic = make_statistic(job, table)
    scored = statistic(np.ones(len(table)))
    both = combinations([model.label for model in job.models if model.label in scored], 2)
    low, high = job.measures[0].low, job.measures[0].high
    return statistic_differences(
        statistic, both, interval=interval, low=low, high=high, **find_clusters(job, table)
    )


def _aggregate_one(job: Job, measure: SettledMeasure, interval: Question, rows: pd.DataFrame) -> Estimate | None:
    return _estimate_own(job, rows, interval)[0].get(measure.name)


def _estimate_mean(
    job: Job, measure: SettledMeasure, interval: Question, rows: pd.DataFrame, level: float = 0.95
) -> Estimate:
    return mean_interval(
        rows["value"],
        interval=interval,
        low=measure.low,
        high=measure.high,
        level=level,
        **find_clusters(job, rows),
    )


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


def _estimate_own(job: Job, table: pd.DataFrame, interval: Question) -> tuple[dict[str, Estimate], set[str]]:
    """Return one model's scores that are not plain means, and the measures that have no score over all rows."""
    if not isinstance(job.instance, TableMetric):
        return _resample_scores(job, table, interval), set()
    with guard_plugin(job.metric, "to form intervals"):
        formed = dict(job.instance.estimates(table, make_mean(job, interval)))
        given = {name: estimate for name, estimate in formed.items() if estimate is not None}
        strange = next((e for e in given.values() if not isinstance(e, Estimate)), None)
        if strange is not None:
            raise TypeError(f"gave {type(strange).__name__}; it must give Estimate")
    return {**_resample_scores(job, table, interval, but=formed), **given}, set(formed) - set(given)


def make_mean(job: Job, interval: Question) -> Callable[..., Estimate]:
    """Return the function that forms intervals of means for a metric's own scores."""
    return partial(_estimate_any_mean, job, interval)


def _estimate_any_mean(job: Job, interval: Question, rows: pd.DataFrame, level: float = 0.95) -> Estimate:
    """Return the mean of rows of a single measure."""
    (name,) = rows["measure"].unique()
    return _estimate_mean(job, next(m for m in job.measures if m.name == name), interval, rows, level)


def _resample_scores(
    job: Job, table: pd.DataFrame, interval: Question, but: Collection[str] = ()
) -> dict[str, Estimate]:
    """Return the scores that are not plain means, with resampled intervals, except those named in `but`."""
    table = select_aggregated(job, table)
    whole = make_statistic(job, table)
    names = set(whole(np.ones(len(table)))) - set(but)
    if not names:
        return {}
    ranges = {name: (m.low, m.high) for name, m in _match_measures(job, names).items()}
    if isinstance(job.instance, TableMetric):
        with guard_plugin(job.metric, "to say the ranges of its scores"):
            ranges |= {name: own for name, own in job.instance.ranges(table).items() if name in names}

    def statistic(weights: NDArray[np.float64]) -> Mapping[str, float]:
        return {name: value for name, value in whole(weights).items() if name not in but}

    return statistic_intervals(statistic, interval=interval, ranges=ranges, **find_clusters(job, table))


def _match_measures(job: Job, names: Iterable[str]) -> dict[str, SettledMeasure]:
    """Return the measure of each score; under a metric of pairs the headline's scores have the models' labels."""
    found = {measure.name: measure for measure in job.measures}
    if job.pairs:
        found |= {model.label: job.measures[0] for model in job.models}
    return {name: found[name] for name in names if name in found}


def _jackknife_sets(job: Job, table: pd.DataFrame) -> Scores:
    """Return the scores of a model's set, and of the sets of each level of the facets."""
    scores, facets, notes = {}, {}, []
    for measure in job.measures:
        rows = table[table["measure"] == measure.name]
        whole = select_whole_sets(rows)
        if len(whole):
            scores[measure.name] = _jackknife(job, measure, whole)
        found, more = _estimate_facets(job, measure, rows, partial(_jackknife, job, measure))
        if found:
            facets[measure.name] = found
        notes += more
        for facet in list_facets([measure], job.prompts):
            if (count := count_levels(facet, job.prompts)) > MOST_LEVELS:
                notes.append(
                    f"{measure.name} by {facet}: {count} levels, more than {MOST_LEVELS}, are not measured"
                )
    return Scores(scores, facets, tuple(notes))


def _jackknife(job: Job, measure: SettledMeasure, rows: pd.DataFrame) -> Estimate:
    """Return the value of one set with its interval."""
    full, parts = split_left_out(rows)
    question = find_question(job.instance)
    if len(parts) < 2:
        note = f"too few {question.split()[1]} for a jackknife: no interval can be formed"
        return Estimate(full, float("nan"), float("nan"), "none", question, 1, notes=(note,))
    return block_jackknife(full, list(parts), low=measure.low, high=measure.high, question=question)
