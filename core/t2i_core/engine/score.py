"""The fourth pass: results and comparisons from measurements, complete and typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from ..api.metric import Metric, PairMetric, PromptMetric, SetMetric, StackedMetric
from ..results.needed_sample import make_sample_need
from ..results.numbers import make_interval, make_number
from ..results.pair_verdict import LEVEL
from ..results.result import Comparison, JudgeAgreement, JudgeName, JudgeOfNeed, Result, Score, UpperBound
from ..results.score_difference import describe_unshared_seeds
from ..results.score_estimates import compare_pair_scores
from ..statistics import ONE_ANNOTATOR, ONE_PROMPT, ONE_SEED, Estimate, PairedDifference, Question, holm
from .estimates import Scores, compare, estimate_scores, find_incomparable, find_shared_prompts
from .job import Job, SampleSet
from .judge_agreement import compare_judges
from .measurement import Measurements
from .outcomes import Counts, Outcomes
from .plan import Plan
from .run_identity import name_way
from .sample import Model
from .sample_images import ImageChecks
from .signature import make_signature

_UNITS = {
    Metric: "samples",
    PromptMetric: "prompts",
    StackedMetric: "prompts",
    SetMetric: "models",
    PairMetric: "pairs",
}

_LEFT_OUT = {ONE_PROMPT: "prompt", ONE_SEED: "seed", ONE_ANNOTATOR: "rater"}
"""Notes on variation that is not in an interval, each with the facet whose levels always lack it."""


@dataclass(frozen=True)
class Scored:
    """The scores of a run.

    Attributes:
        results: One of each metric and model.
        comparisons: One of each metric and two models.
        agreements: One of each metric and two of its judges.
        notes: Models that are not compared, with the reasons.
    """

    results: list[Result]
    comparisons: list[Comparison]
    agreements: list[JudgeAgreement]
    notes: list[str]


def score(plan: Plan, measured: Measurements, checks: ImageChecks) -> Scored:
    """Return the scores of all models under all metrics, and the paired differences of each two models.

    Args:
        plan: The plan.
        measured: The rows of its metrics, and the outcomes of its samples.
        checks: The checks of its images.
    """
    interval = plan.request.interval
    results: list[Result] = []
    comparisons: list[Comparison] = []
    notes: list[str] = []
    outcomes = dict(zip(map(id, plan.jobs), measured.outcomes, strict=True))
    for key, table in measured.tables.items():
        jobs = [job for job in plan.jobs if job.key == key]
        scores = [estimate_scores(job, measured.select_rows(job), interval) for job in jobs]
        bounds = _list_bounds(jobs, scores)
        for job, own in zip(jobs, scores, strict=True):
            bound = None if job.is_bound or job.bound is None else bounds[job.bound]
            shared = _note_shared_prompts(job, jobs)
            results += [
                _make_result(plan, job, model, own[model.label], outcomes[id(job)], checks, bound, shared)
                for model in job.models
            ]
        found, why_not = _compare_models(jobs, table, interval)
        comparisons += found
        notes += why_not
    return Scored(results, comparisons, compare_judges(plan.jobs, measured.tables), notes)


def describe_failure(plan: Plan, outcomes: Sequence[Outcomes], planned: int = 0) -> str | None:
    """Return why a run has failed because too many of its samples did; None if it has not.

    Args:
        plan: The plan.
        outcomes: Outcomes of the samples of each of its sample sets, in their order.
        planned: The most samples of each model that a growing run may still come to. Failures count against these.
    """
    shares = [
        _describe_share(f"{each.title} on {label}" if isinstance(each, Job) else label, counts, planned)
        for each, own in zip(plan.sample_sets, outcomes, strict=True)
        for label, counts in own.counts.items()
        if not _is_unjudged_bound(each, counts)
    ]
    reasons = Counter(lost.reason for own in outcomes for lost in own.lost if lost.kind == "failed")
    return make_verdict(max(shares, default=(0.0, "")), plan.request.max_failed, reasons)


def _is_unjudged_bound(of: SampleSet, counts: Counts) -> bool:
    """Return whether these are images of an upper bound that were not shown to the people who judge."""
    of_people = isinstance(of, Job) and of.is_bound and any(served.by_people for served in of.needs)
    return of_people and counts.missing == counts.planned


def make_verdict(worst: tuple[float, str], allowed: float, reasons: Counter[str]) -> str | None:
    """Return why a run has failed, and the most frequent reasons; None if it has not.

    Args:
        worst: The largest share of failed samples, in [0, 1], with a description.
        allowed: The largest share allowed, in [0, 1].
        reasons: Reasons of failures, with their numbers.
    """
    share, words = worst
    if share <= allowed:
        return None
    more = "" if words.endswith("missing)") else f", more than the {allowed:.1%} allowed"
    most = "; ".join(
        f"{count} x {reason if len(reason) <= 200 else f'{reason[:199]}…'}"
        for reason, count in reasons.most_common(2)
    )
    return f"{words}{more}; failures.csv says why{f': {most}' if most else ''}"


def _describe_share(whose: str, counts: Counts, planned: int) -> tuple[float, str]:
    """Return the share of a model's samples that failed, and a sentence about it."""
    if counts.ok == 0 and counts.excluded == 0:
        return 1.0, f"{whose}: no sample has a value ({counts.failed} failed, {counts.missing} missing)"
    of = max(counts.tried, planned, 1)
    share = counts.failed / of
    kind = "planned samples" if of > counts.tried else "samples"
    return share, f"{whose}: {counts.failed} of {of} {kind} failed ({share:.1%})"


def describe_truncated(model: Model, count: int) -> list[str]:
    """Return a note on the samples whose prompt is longer than the model reads, if there are any."""
    if not count:
        return []
    return [
        f"{model.label}: {count} samples were drawn from a part of their prompt, which is longer than the model "
        "reads (tokens_lost in samples.csv)"
    ]


def _list_bounds(jobs: Sequence[Job], scores: Sequence[dict[str, Scores]]) -> dict[str, UpperBound]:
    """Return the upper bounds of one metric's scores, by the label of the model that gives the bound."""
    named = {job.bound for job in jobs}
    bounds = {}
    for job, own in zip(jobs, scores, strict=True):
        if (label := job.models[0].label) in named and not job.pairs:
            headline = own[label].headline
            value, ci = (make_number(headline.value), make_interval(headline)) if headline else (None, None)
            bounds[label] = UpperBound(model=label, value=value, ci=ci, named=not job.is_bound)
    return bounds


def _make_result(
    plan: Plan,
    job: Job,
    model: Model,
    scores: Scores,
    outcomes: Outcomes,
    checks: ImageChecks,
    bound: UpperBound | None,
    shared: Sequence[str],
) -> Result:
    counts = outcomes.counts[model.label]
    headline = scores.headline
    judges = [
        JudgeOfNeed(
            need=s.need.name,
            name=s.who if s.choice else model.component.spec,
            why=s.why,
            capability=name_way(job, s),
        )
        for s in job.needs
    ]
    n_truncated = checks.count_truncated(job, model)
    notes = [
        *scores.notes,
        *(headline.notes if headline else ()),
        *_note_narrow(scores),
        *_note_unshared_seeds(job, model),
        *shared,
        *outcomes.describe_notes(model.label, _UNITS[job.unit_kind]),
        *_note_missing(model, counts),
        *_note_excluded(model, outcomes),
        *describe_truncated(model, n_truncated),
        *checks.describe_decoding(model),
    ]
    return Result(
        metric=job.metric.spec,
        by=job.by,
        model=model.component.spec,
        label=model.label,
        settings=model.settings,
        judge=JudgeName(name=judges[0].name, why=judges[0].why) if judges else None,
        judges=judges,
        prompts=job.prompts_name,
        signature=make_signature(job, model, plan.request),
        score=make_number(headline.value) if headline else None,
        ci=make_interval(headline) if headline else None,
        higher_is_better=_find_direction(job, scores),
        interval=f"{headline.method}; {headline.question}" if headline else None,
        upper_bound=bound,
        notes=list(dict.fromkeys(notes)),
        n_prompts=len(job.prompts),
        n_prompts_ok=len(outcomes.scored.get(model.label, ())),
        n_seeds=len(job.seeds),
        n_ok=counts.ok,
        n_failed=counts.failed,
        n_missing=counts.missing,
        n_excluded=counts.excluded,
        n_truncated=n_truncated,
        scores={name: _make_score(e) for name, e in scores.scores.items()},
        facets={
            measure: {
                # of a level of pairs nothing else tells how many battles it has, and whether they suffice
                facet: {level: _make_score(e, every_note=job.pairs) for level, e in levels.items()}
                for facet, levels in facets.items()
            }
            for measure, facets in scores.facets.items()
        },
    )


def _find_direction(job: Job, scores: Scores) -> bool | None:
    """Return whether a higher headline score is better; None if neither is, or there is no score."""
    measure = job.measures_by_name.get(next(iter(scores.scores), ""))
    return None if measure is None else measure.higher_is_better


def _note_unshared_seeds(job: Job, model: Model) -> list[str]:
    """Return a note on seeds that are not crossed, although the run's noise is shared between prompts."""
    if model.unshared_seeds is None or job.noise != "shared" or isinstance(job.instance, SetMetric):
        return []
    return [describe_unshared_seeds(model.label, model.unshared_seeds)]


def _note_shared_prompts(job: Job, jobs: Sequence[Job]) -> list[str]:
    """Return a note on each other model that is compared on a part of the prompts, because the rest differ."""
    notes = []
    for other in jobs:
        if other.is_bound or job.is_bound or other.prompts is job.prompts or find_incomparable(job, other):
            continue
        count = len(find_shared_prompts(job, other))
        if 0 < count < max(len(job.prompts), len(other.prompts)):
            label = other.models[0].label
            notes.append(
                f"compared with {label} on the {count} prompts in common: {len(job.prompts)} are measured here, "
                f"{len(other.prompts)} for {label}"
            )
    return notes


def _note_missing(model: Model, counts: Counts) -> list[str]:
    if not counts.missing:
        return []
    return [f"{model.label}: {counts.missing} of {counts.planned} samples are missing, the score leaves them out"]


def _note_excluded(model: Model, outcomes: Outcomes) -> list[str]:
    """Return a note if the metric excludes all samples that could have a value: there is no score then."""
    counts = outcomes.counts[model.label]
    if counts.ok or not counts.excluded:
        return []
    own = (each for each in outcomes.lost if each.kind == "excluded" and model.label in each.models)
    ((reason, _),) = Counter(each.reason for each in own).most_common(1)
    return [f"{model.label}: no score, because the metric excludes all {counts.excluded} samples ({reason})"]


def _note_narrow(scores: Scores) -> Iterator[str]:
    """Yield a note on the scores and levels whose interval lacks a variation that the headline's interval has.

    Levels of the facet `prompt` are single prompts by their nature, and are not listed.
    """
    if not scores.scores:
        return
    headline, *others = scores.scores
    for note, facet_of_ones in _LEFT_OUT.items():
        if note in scores.scores[headline].notes:
            continue
        where = [name for name in others if note in scores.scores[name].notes]
        for measure, facets in scores.facets.items():
            for facet, levels in facets.items():
                narrow = sum(note in estimate.notes for estimate in levels.values())
                if narrow and facet != facet_of_ones and measure not in where:
                    where.append(f"{measure} by {facet} ({narrow} of {len(levels)} levels)")
        if where:
            yield f"{', '.join(where)}: {note}"


def _compare_models(
    jobs: Sequence[Job], table: pd.DataFrame, interval: Question
) -> tuple[list[Comparison], list[str]]:
    """Compare each two models of a metric, and note which cannot be compared.

    The p-values are adjusted together by Holm's method.
    """
    found: list[tuple[str, str, PairedDifference]] = []
    notes = []
    title = jobs[0].title
    theirs = [(job, model.label) for job in jobs if not job.is_bound for model in job.models]
    labels = [label for _, label in theirs]
    in_pairs = compare_pair_scores(jobs[0], labels, table, interval) if jobs[0].pairs else {}
    for (job_a, a), (job_b, b) in combinations(theirs, 2):
        compared = None
        why = find_incomparable(job_a, job_b)
        if job_a.pairs:
            compared, why = in_pairs.get((a, b)), "one has no score"
        elif why is None:
            compared = compare(job_a, job_b, a, b, table, interval)
            why = "they share no prompts under the same seeds"
        if compared is None:
            notes.append(f"{title}: {a} and {b} are not compared: {why}")
        else:
            found.append((a, b, compared))
    adjusted = holm([compared.p for _, _, compared in found])
    return [
        Comparison(
            metric=jobs[0].metric.spec,
            by=jobs[0].by,
            a=a,
            b=b,
            diff=make_number(compared.diff),
            ci=make_interval(compared),
            p_adjusted=make_number(p),
            p_unadjusted=make_number(compared.p),
            n=compared.n,
            interval=f"{compared.method}; {compared.question}",
            needed=None if p < LEVEL else make_sample_need(compared, jobs[0].measures[0]),
        )
        for (a, b, compared), p in zip(found, adjusted, strict=True)
    ], notes


def _make_score(estimate: Estimate, every_note: bool = False) -> Score:
    """Return a score with its interval, and notes on variation that the interval lacks, or every note."""
    notes = [note for note in estimate.notes if every_note or note in _LEFT_OUT]
    return Score(value=make_number(estimate.value), ci=make_interval(estimate), notes=notes)
