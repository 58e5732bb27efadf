"""Scores of an evaluation, corrected by people's labels (`--correct`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..api.errors import NoJudge
from ..api.metric_input import Sample
from ..api.plugin_info import JudgeInfo
from ..api.progress import Progress
from ..io.answers import HumanAnswer, read_answers
from ..results.corrected_run import JudgedMetric, correct_metric
from ..results.label_rows import LabelledMetric, LabelRows, measure_labels
from ..storage.store import KeptImage, Store
from .component import Component
from .estimates import find_shared_prompts
from .job import Job
from .measurement import Measurements
from .plan import Plan
from .query_index import Failures
from .sample_images import iterate_images
from .score import Scored


def correct_scores(
    plan: Plan, scored: Scored, measured: Measurements, store: Store, without_image: Failures, progress: Progress
) -> Scored:
    """Return the scores of a run with their corrections; the same ones if no people correct them.

    Args:
        plan: The plan.
        scored: The scores.
        measured: The rows of its metrics.
        store: The cache, which has the images.
        without_image: Why samples have no image, by their keys.
        progress: Shows the progress to the user.

    Raises:
        BadOption: If the answers are not valid.
        BrokenPlugin: If a metric or the judge fails.
    """
    if plan.people is None:
        return scored
    answers = read_answers(Path(plan.people.argument or "")).answers
    labels: dict[str, LabelRows] = {}
    results, comparisons = [], []
    for key, table in measured.tables.items():
        of_metric = [job for job in plan.jobs if job.key == key and not job.is_bound]
        jobs = {model.label: job for job in of_metric for model in job.models}
        own = [each for each in scored.results if (each.metric, each.by) == key]
        theirs = [each for each in scored.comparisons if (each.metric, each.by) == key]
        bounds = [each for each in own if each.label not in jobs]
        metric = key[0]
        if metric not in labels and (
            found := _measure(plan, jobs, plan.people, answers, store, without_image, progress)
        ):
            labels[metric] = found
        if metric in labels:
            listed = [each for each in own if each.label in jobs]
            judged = JudgedMetric(jobs, table, labels[metric], partial(_find_shared, jobs))
            corrected, theirs = correct_metric(judged, listed, theirs, plan.people.spec, plan.request.interval)
            own = [*corrected, *bounds]
        results += own
        comparisons += theirs
    return replace(scored, results=results, comparisons=comparisons)


def _measure(
    plan: Plan,
    jobs: dict[str, Job],
    people: Component[JudgeInfo],
    answers: tuple[HumanAnswer, ...],
    store: Store,
    without_image: Failures,
    progress: Progress,
) -> LabelRows | None:
    """Return what a metric measures by people's answers; None if they cannot be asked, as the plan has noted."""
    first = next(iter(jobs.values()))
    labelled = LabelledMetric(first.metric, first.instance, first.measures, people)
    samples = _list_samples(plan, jobs, store, without_image, progress)
    try:
        return measure_labels(labelled, answers, samples, list(jobs))
    except NoJudge:
        return None


def _list_samples(
    plan: Plan, jobs: dict[str, Job], store: Store, without_image: Failures, progress: Progress
) -> Iterator[Sample]:
    """Yield the samples of jobs that have an image, each with the job's own prompt."""
    prompts = {label: {prompt.id: prompt for prompt in job.prompts} for label, job in jobs.items()}
    for each in iterate_images(plan, store, without_image, progress, "finding labelled images", look=False):
        label, kept = each.sample.model.label, each.image
        prompt = prompts.get(label, {}).get(each.sample.prompt.id)
        if prompt is not None and isinstance(kept, KeptImage):
            yield Sample(label, prompt, each.sample.seed, kept.image)


def _find_shared(jobs: dict[str, Job], a: str, b: str) -> set[str]:
    return find_shared_prompts(jobs[a], jobs[b])
