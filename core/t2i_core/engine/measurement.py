"""The third stage: arithmetic. Units are read from the store, one after another, and measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..api.failure import Failure
from ..api.metric import Excluded, Rows
from ..api.progress import Progress
from ..storage.store import Store
from .job import Job
from .ledger import Ledger
from .measurement_table import TableBuilder
from .rows import columns_of, rows_of, seeds_of
from .sample_counts import Counts, Measured
from .unit_reader import Group, Reader, groups


def reading_alike(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    """Gather jobs that are measured from the same answers, so that these are read once."""
    left = list(jobs)
    while left:
        alike = [job for job in left if _reads_alike(left[0], job)]
        left = [job for job in left if not any(job is other for other in alike)]
        yield alike


def _reads_alike(a: Job, b: Job) -> bool:
    """Whether two jobs look at the same answers about the same samples, and group them in the same way."""
    return a is b or (_reading(a) == _reading(b) and all(s.need.derive is None for s in (*a.needs, *b.needs)))


def _reading(job: Job) -> tuple[Any, ...]:
    (model, *_), metric = job.models, job.instance
    judges = [served.judge_fingerprint(model) for served in job.needs]
    return job.models, metric.group_by, metric.stacked, [s.need for s in job.needs], judges, job.seeds, job.prompts


def measure(
    jobs: Sequence[Job], store: Store, ledger: Ledger, tables: Sequence[TableBuilder], progress: Progress
) -> list[Measured]:
    """Measure every unit of jobs that read alike, each into a table of its own.

    Samples that have no image, no answer or no value are counted and listed, never scored.
    """
    first = jobs[0]
    measured = [Measured({model.label: Counts() for model in job.models}) for job in jobs]
    names = ", ".join(job.metric.spec for job in jobs)
    with progress.task(f"measuring {names}", first.size(), "samples") as task:
        for group in groups(first, Reader(first, store, ledger, measured, task)):
            for job, own, rows in zip(jobs, measured, tables, strict=True):
                _measure(job, group, own, rows)
    return measured


def _measure(job: Job, group: Group, measured: Measured, rows: TableBuilder) -> None:
    """Measure one unit of a job."""
    found, notes = rows_of(job, group.unit)
    if group.left_out is None:
        measured.remark(group.models, notes)
    if isinstance(found, Failure | Excluded):
        measured.lose(group.models, group.samples, found)
        return
    measured.keep(group.models, group.samples)
    for row in found:
        columns = columns_of(group, row)
        if isinstance(row, Rows):
            rows.extend(row.values, columns, "seed", seeds_of(group.unit, row))
        else:
            rows.append(row.value, columns)
