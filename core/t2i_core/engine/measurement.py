"""The third pass: read units from the cache, one after another, and measure them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..api.failure import Failure
from ..api.metric import SetMetric, TableMetric
from ..api.metric_output import Excluded, Note, Row
from ..api.plugin_guard import guard_plugin
from ..api.progress import Progress
from ..results.evidence import EvidenceRow
from ..results.measurement_table import TableBuilder
from ..results.metric_rows import rows_of
from ..results.observed_units import add_row
from ..storage.store import Store
from .evidence import EvidenceKeeper
from .facets import list_facets
from .generation import GeneratedImages
from .job import Job
from .observation import Observations
from .outcomes import Outcomes
from .rows import columns_of
from .unit_reader import Group, Lost, Reader, read_units

TableKey = tuple[str, str | None]
"""A metric's name and its judges, if the run measures it with several."""


@dataclass(frozen=True)
class Measurements:
    """The measurements of a run.

    Attributes:
        tables: All rows of each metric, by its name and judges (`Job.key`).
        outcomes: Outcomes of the samples of each job, in the jobs' order.
        evidence: Evidence for the worst samples.
    """

    tables: Mapping[TableKey, pd.DataFrame]
    outcomes: Sequence[Outcomes]
    evidence: Sequence[EvidenceRow] = ()

    def select_rows(self, job: Job) -> pd.DataFrame:
        """Return the rows of a job: those of its model, or of all models if it measures pairs."""
        return _select_rows(self.tables, job)


def _select_rows(tables: Mapping[TableKey, pd.DataFrame], job: Job) -> pd.DataFrame:
    table = tables[job.key]
    return table if job.pairs or table.empty else table[table["model"] == job.models[0].label]


def measure(
    jobs: Sequence[Job], images: GeneratedImages, observations: Observations, store: Store, progress: Progress
) -> Measurements:
    """Measure all units of all jobs.

    Samples without an image, an answer or a value are counted and listed, never scored.
    """
    builders = {job.key: TableBuilder() for job in jobs}
    outcomes = [Outcomes.of(job.models) for job in jobs]
    evidence = EvidenceKeeper()
    for alike in _group_by_answers(jobs):
        own = [(jobs[n], outcomes[n], builders[jobs[n].key]) for n in alike]
        first, names = jobs[alike[0]], ", ".join(jobs[n].title for n in alike)
        with progress.task(f"measuring {names}", first.size(), "samples") as task:
            for read in read_units(first, Reader(first, images, observations, store, task)):
                for job, of_job, rows in own:
                    if isinstance(read, Lost):
                        of_job.lose([sample.model for sample in read.item], read.item[:1], read.why)
                    else:
                        _measure_unit(job, read, of_job, rows, evidence)
    # one builder at a time, so that the rows of a metric are never in memory twice
    tables = {key: builders.pop(key).build() for key in list(builders)}
    for job, of_job in zip(jobs, outcomes, strict=True):
        of_job.add_notes(job.models, _note_rows(job, _select_rows(tables, job)))
    return Measurements(tables, outcomes, list(evidence.rows()))


def _group_by_answers(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Yield the numbers of jobs that use the same answers, so that these are read once."""
    left = list(range(len(jobs)))
    while left:
        alike = [n for n in left if _share_answers(jobs[left[0]], jobs[n])]
        left = [n for n in left if n not in alike]
        yield alike


def _share_answers(a: Job, b: Job) -> bool:
    """Return whether two jobs use the same answers about the same samples, and group them in the same way."""
    alike = _describe_reading(a) == _describe_reading(b)
    return a is b or (alike and all(s.need.derive is None for s in (*a.needs, *b.needs)))


def _describe_reading(job: Job) -> tuple[Any, ...]:
    model = job.models[0]
    judges = [served.judge_fingerprint(model) for served in job.needs]
    sets = isinstance(job.instance, SetMetric) and (
        job.instance.whole_prompts,
        list_facets(job.measures, job.prompts),
    )
    return job.models, job.unit_kind, sets, [s.need for s in job.needs], judges, job.seeds, job.prompts


def _measure_unit(
    job: Job, group: Group, outcomes: Outcomes, rows: TableBuilder, evidence: EvidenceKeeper
) -> None:
    found, notes = rows_of(job, group.unit)
    if group.is_whole:
        outcomes.add_notes(group.models, notes)
    if isinstance(found, Failure | Excluded):
        outcomes.lose(group.models, group.samples, found)
        return
    outcomes.keep(group.models, group.samples)
    for row in found:
        add_row(rows, group.unit, row, columns_of(group, row))
        if isinstance(row, Row):
            evidence.add(job, group, row)


def _note_rows(job: Job, table: pd.DataFrame) -> Iterable[Note]:
    """Return the metric's notes about all rows together."""
    if table.empty or not isinstance(job.instance, TableMetric):
        return []
    with guard_plugin(job.metric, "to say what must be known of its rows"):
        return list(job.instance.remarks(table))
