"""Runs that grow: draw the samples of one look after the other, until the rule of the plan stops them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..api.errors import BadOption, CostLimitReached
from ..api.metric import TableMetric
from ..api.plugin_guard import guard_plugin
from ..api.progress import Progress
from ..results.look_text import describe_look, describe_stop
from ..results.looks import StoppingRecord
from ..results.score_difference import make_statistic, select_aggregated
from ..results.score_estimates import make_mean
from ..statistics.design import Floats
from ..statistics.verdicts import Family
from ..storage.store import Store
from .generation import GeneratedImages
from .job import Job
from .look_records import DrawnSamples, record_looks
from .measurement import Measurements, measure
from .observation import Observations
from .plan import Plan
from .query_index import Failures
from .score import describe_failure
from .stopping_rule import StoppingRule, describe_aggregate, restrict_jobs

Draw = Callable[[Plan, GeneratedImages, Failures], tuple[GeneratedImages, Observations]]
"""Generates and observes the samples of a plan, except what failed before."""


@dataclass(frozen=True)
class Growth:
    """Samples that a run has drawn until it stopped, and its looks at them.

    Attributes:
        plan: The plan of the samples that were drawn.
        images: The images.
        failures: Why queries have no answer, by their keys.
        record: The rule and the looks.
        family: The tests of all pairs; None with `width=W`.
        failed: Why the run ended without a verdict although samples were left to draw; None if it did not.
    """

    plan: Plan
    images: GeneratedImages
    failures: Failures
    record: StoppingRecord
    family: Family | None
    failed: str | None


def grow(
    plan: Plan,
    rule: StoppingRule,
    draw: Draw,
    store: Store,
    write: Callable[[StoppingRecord], None],
    progress: Progress,
) -> Growth:
    """Draw samples until the rule stops the run.

    A look's samples are generated and observed like those of any plan. An interrupted run takes the same looks
    again, whose images and answers are kept, and decides the same.

    Args:
        plan: The plan up to its planned end.
        rule: Its rule.
        draw: Generates and observes samples.
        store: The cache.
        write: Records the looks so far.
        progress: Shows the looks to the user.

    Raises:
        BadOption: If the score is not a mean over images.
        CostLimitReached: If the budget is spent before the first look.
    """
    jobs = [job for job in plan.jobs if not job.is_bound]
    drawn, record, family, failed = DrawnSamples(), rule.make_record(), None, None
    left: Sequence[str] = [job.models[0].label for job in jobs]
    for look in rule.looks:
        growing = [job for job in jobs if job.models[0].label in left]
        part = replace(plan, jobs=restrict_jobs(growing, dict.fromkeys(left, look)))
        try:
            drawn.images, observations = draw(part, drawn.images, drawn.failures)
        except CostLimitReached as error:
            if not record.looks:
                raise
            failed = str(error)
            break
        drawn.failures = observations.failures
        measured = measure(part.jobs, drawn.images, observations, store, progress)
        drawn.looks |= dict.fromkeys(left, look)
        drawn.cells |= {job.models[0].label: _read_cells(job, measured) for job in part.jobs}
        failed = describe_failure(part, measured.outcomes, rule.looks[-1].images)
        if failed is not None:
            break
        looks, family = record_looks(rule, jobs, drawn)
        record = record.model_copy(update={"looks": looks})
        write(record)
        for line in describe_look(record):
            progress.note(line)
        left = looks[-1].left
        if not left:
            break
    record = record.model_copy(update={"verdict": describe_stop(record, failed, rule.is_limited)})
    ended = replace(plan, jobs=restrict_jobs(plan.jobs, drawn.looks))
    failed = failed and record.verdict
    return Growth(ended, drawn.images, drawn.failures, record, family, failed)


def _read_cells(job: Job, measured: Measurements) -> Floats:
    """Return the headline values of a model's samples, shape (prompts, seeds).

    Raises:
        BadOption: If the headline is not a mean over samples.
    """
    table, headline = measured.select_rows(job), job.measures[0].name
    if table.empty:
        return np.full((len(job.prompts), len(job.seeds)), np.nan)
    _refuse_aggregate(job, table)
    rows = table[table["measure"] == headline]
    wide = rows.groupby(["prompt", "seed"], observed=True)["value"].mean().unstack("seed")
    wide.index, wide.columns = wide.index.astype(object), wide.columns.astype(object)
    wide = wide.reindex(index=[prompt.id for prompt in job.prompts], columns=list(job.seeds))
    return np.asarray(wide.to_numpy(np.float64))


def _refuse_aggregate(job: Job, table: pd.DataFrame) -> None:
    """Refuse a headline that the metric computes from all rows, because its variance is not that of a mean.

    Metrics that declare it (`TableMetric.computes_headline`) are refused before the first image.
    """
    headline = job.measures[0].name
    own = select_aggregated(job, table)
    names = set(make_statistic(job, own)(np.ones(len(own))))
    if isinstance(job.instance, TableMetric):
        with guard_plugin(job.metric, "to form intervals"):
            names |= set(job.instance.estimates(table, make_mean(job, "new")))
    if headline in names or headline not in set(table["measure"].unique()):
        raise BadOption(describe_aggregate(job))
