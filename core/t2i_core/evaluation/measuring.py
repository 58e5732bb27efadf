"""The third stage: arithmetic. Units are read from the store, one after another, and measured."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import numpy as np

from ..capabilities import combine, expand
from ..errors import BrokenPlugin, FailedRun
from ..generation import Failure
from ..images import DamagedImage
from ..metrics import Answer, Excluded, Note, Observed, Row, Rows, Sample, Unit
from ..observations import TYPES, arrays_from_bytes
from ..progress import Progress, Task
from ..prompts import RESERVED, Prompt, strange_facet
from ..store import Store
from .jobs import IMAGES, Failures, Job, Model, Served, derived_key, keys_of_images_alone
from .making import described, guarded
from .observing import gathered, image_gone, keyed, shared_samples
from .table import TableBuilder

BLOCKS = 20
"""Blocks of images that are left out in turn for the jackknife of a model's set."""

Cell = tuple[Prompt, int]


@dataclass
class Counts:
    """What became of a model's samples (or, for pairs, of the pairs that it is in)."""

    ok: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0


@dataclass(frozen=True)
class Lost:
    """One sample or pair that has no value, and why."""

    models: tuple[str, ...]
    prompt: str
    seed: int
    reason: str
    kind: str


@dataclass
class Measured:
    """What became of a job's samples, beside the rows.

    counts:  by model label
    lost:    all that have no value
    notes:   what the metric says of what it measured, by model label, and of how many units
    """

    counts: dict[str, Counts]
    lost: list[Lost] = field(default_factory=list)
    notes: dict[str, Counter[Note]] = field(default_factory=dict)

    def remark(self, models: Sequence[Model], notes: Iterable[Note]) -> None:
        """Keep what is said of models' samples."""
        for note in notes:
            for model in models:
                self.notes.setdefault(model.label, Counter())[note] += 1

    def said(self, label: str, units: str) -> list[str]:
        """Return what is said of a model's units, which are called so."""
        notes = self.notes.get(label, Counter())
        return [f"{n} {units}: {note.text}" if note.counted else note.text for note, n in notes.items()]

    def keep(self, models: Sequence[Model], cells: Iterable[Cell]) -> None:
        """Count samples that have a value."""
        for _ in cells:
            for model in models:
                self.counts[model.label].ok += 1

    def lose(self, models: Sequence[Model], cells: Iterable[Cell], why: Failure | Excluded) -> None:
        """Count samples that have none, and list them."""
        kind = "excluded" if isinstance(why, Excluded) else "missing" if why.missing else "failed"
        for prompt, seed in cells:
            for model in models:
                counts = self.counts[model.label]
                setattr(counts, kind, getattr(counts, kind) + 1)
            self.lost.append(Lost(tuple(m.label for m in models), prompt.id, seed, why.reason, kind))


@dataclass(frozen=True)
class _Group:
    """A unit, with the samples that it stands for; none where it is a set without one of its blocks."""

    unit: Unit
    models: tuple[Model, ...]
    cells: tuple[Cell, ...]
    left_out: int | None = None

    @cached_property
    def seeds(self) -> str:
        """The seeds that a prompt's value is made of."""
        return " ".join(str(seed) for _, seed in self.cells)


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
    jobs: Sequence[Job], store: Store, failures: Failures, tables: Sequence[TableBuilder], progress: Progress
) -> list[Measured]:
    """Measure every unit of jobs that read alike, each into a table of its own.

    Samples that have no image, no answer or no value are counted and listed, never scored.
    """
    first = jobs[0]
    measured = [Measured({model.label: Counts() for model in job.models}) for job in jobs]
    names = ", ".join(job.metric.spec for job in jobs)
    with progress.task(f"measuring {names}", first.size(), "samples") as task:
        for group in _groups(first, _Reader(first, store, failures, measured, task)):
            for job, own, rows in zip(jobs, measured, tables, strict=True):
                _measure(job, group, own, rows)
    return measured


def _measure(job: Job, group: _Group, measured: Measured, rows: TableBuilder) -> None:
    """Measure one unit of a job."""
    found, notes = _found(job, group.unit)
    if group.left_out is None:
        measured.remark(group.models, notes)
    if isinstance(found, Failure | Excluded):
        measured.lose(group.models, group.cells, found)
        return
    measured.keep(group.models, group.cells)
    for row in found:
        columns = _columns(group, row)
        if isinstance(row, Rows):
            rows.extend(row.values, columns, "seed", _seeds(group.unit, row))
        else:
            rows.append(row.value, columns)


class _Reader:
    """Reads samples with their answers from the store."""

    def __init__(
        self, job: Job, store: Store, failures: Failures, measured: Sequence[Measured], task: Task
    ) -> None:
        self.job, self.store, self.failures, self.measured, self.task = job, store, failures, measured, task
        self.shared = {s.need.name: self._shared(s) for s in job.needs if s.need.per == "run"}

    def read(self, models: Sequence[Model], prompt: Prompt, seed: int) -> Observed | None:
        """Return one item with its answers, or None where it failed, which is counted."""
        result = self.observed(models, prompt, seed)
        self.task.advance()
        if isinstance(result, Failure):
            self._lose(models, prompt, seed, result)
            return None
        return result

    def _lose(self, models: Sequence[Model], prompt: Prompt, seed: int, why: Failure) -> None:
        for measured in self.measured:
            measured.lose(models, [(prompt, seed)], why)

    def observed(self, models: Sequence[Model], prompt: Prompt, seed: int) -> Observed | Failure:
        """Return one item with its answers, or why it has none."""
        samples: tuple[Sample, ...] = tuple(Sample(m.label, prompt, seed) for m in models)
        if self.job.generates:
            found = gathered(self.job, models, prompt, seed, self.store, self.failures)
            if isinstance(found, Failure):
                return found
            samples = found
        answers: dict[str, Sequence[Answer]] = {}
        for served in self.job.needs:
            if served.need.per == "run":
                continue
            try:
                got = self._answers(served, models[0], samples)
            except DamagedImage as error:
                return Failure(str(error))
            if isinstance(got, Failure):
                return got
            answers[served.need.name] = got
        return Observed(samples, answers)

    def stack(self, model: Model, prompt: Prompt, seeds: Sequence[int]) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Read a prompt's samples in bulk: the seeds that have all answers, and one observation for each need.

        What failed is counted.
        """
        lost: dict[int, Failure] = {}
        images: dict[int, str] = {}
        keys = self.job.image_keys(model, prompt, seeds)
        for seed, key, digest in zip(seeds, keys, self.store.digests(keys), strict=True):
            if key in self.failures.images:
                lost[seed] = self.failures.images[key]
            elif digest is None:
                raise image_gone(self.store, (model,), prompt, seed)
            else:
                images[seed] = digest
        answers: dict[str, dict[int, bytes]] = {}
        for served in self.job.needs:
            judge, asked, own = (
                served.judge_fingerprint(model),
                served.asked,
                answers.setdefault(served.need.name, {}),
            )
            keys = keys_of_images_alone(judge, asked, images.values())
            for seed, key, value in zip(images, keys, self.store.get_many(keys), strict=True):
                if key in self.failures.observations:
                    lost[seed] = self.failures.observations[key]
                elif value is None:
                    raise self.store.gone("an observation")
                else:
                    own[seed] = value
        for seed, failure in lost.items():
            self._lose((model,), prompt, seed, failure)
        self.task.advance(len(seeds))
        left = tuple(seed for seed in seeds if seed not in lost)
        return left, {
            s.need.name: _stacked(s, model, [answers[s.need.name][seed] for seed in left])
            for s in self.job.needs
            if left
        }

    def _shared(self, served: Served) -> Sequence[Answer]:
        """Return the answers that are asked once per run; without them nothing can be measured."""
        got = self._answers(served, self.job.models[0], shared_samples(self.job))
        if isinstance(got, Failure):
            raise FailedRun(
                f"{described(self.job.metric)} cannot be measured without its {served.need.name}: {got.reason}"
            )
        return got

    def _answers(self, served: Served, model: Model, samples: tuple[Sample, ...]) -> list[Answer] | Failure:
        kept: list[tuple[str, Any]] = []
        with guarded(self.job.metric, "to say what it asks", heeds_damage=True):
            asked = list(keyed(served, model, samples))
            queries = list(served.need.queries(samples))
        for key, _ in asked:
            if key in self.failures.observations:
                return self.failures.observations[key]
            value = self.store.get(key)
            if value is None:
                raise self.store.gone("an observation")
            kept.append((key, TYPES[served.asked].from_bytes(value, served.labels)))
        chain = served.choice.chain if served.choice else ()
        answers, taken = [], 0
        for query in queries:
            width = len(expand(chain, query))
            part = kept[taken : taken + width]
            taken += width
            derived = {}
            if served.need.derive:
                stored = self.store.get(derived_key(part[0][0], served.need, self.job.metric))
                if stored is None:
                    raise self.store.gone("what was derived from an observation")
                derived = arrays_from_bytes(stored)
            combined = combine(chain, query, [observation for _, observation in part])
            if isinstance(combined, Failure):
                return combined
            answers.append(Answer(combined, derived))
        return answers


def _stacked(served: Served, model: Model, data: Sequence[bytes]) -> Any:
    """Read stored forms as one observation. Raises BrokenPlugin where they do not fit each other."""
    try:
        return TYPES[served.asked].stacked(data, served.labels)
    except ValueError as error:
        judge = served.choice.judge if served.choice else model.component
        raise BrokenPlugin(f"{described(judge)} gave {error}") from error


@dataclass(frozen=True)
class _Rereadable:
    """Observed items that are read again each time they are iterated."""

    read: Callable[[], Iterator[Observed]]

    def __iter__(self) -> Iterator[Observed]:
        return self.read()


def _groups(job: Job, reader: _Reader) -> Iterator[_Group]:
    """Yield each unit with the samples that it stands for."""
    by = job.instance.group_by
    if by in ("sample", "pair"):
        for models, prompt, seed in job.items():
            observed = reader.read(models, prompt, seed)
            if observed is not None:
                labels = tuple(m.label for m in models)
                unit = Unit(labels, prompt, seed, (observed,), reader.shared)
                yield _Group(unit, models, ((prompt, seed),))
    elif job.instance.stacked:
        for model in job.models:
            for prompt, cells in groupby(job.drawn(), key=lambda cell: cell[0]):
                seeds, stacked = reader.stack(model, prompt, [seed for _, seed in cells])
                if seeds:
                    unit = Unit((model.label,), prompt, None, (), reader.shared, stacked, seeds)
                    yield _Group(unit, (model,), tuple((prompt, seed) for seed in seeds))
    elif by == "prompt":
        for model in job.models:
            for prompt, cells in groupby(job.drawn(), key=lambda cell: cell[0]):
                read = ((reader.read((model,), prompt, seed), seed) for _, seed in cells)
                usable = [(observed, seed) for observed, seed in read if observed is not None]
                if usable:
                    observed_all, seeds = tuple(o for o, _ in usable), tuple(seed for _, seed in usable)
                    unit = Unit((model.label,), prompt, None, observed_all, reader.shared, seeds=seeds)
                    yield _Group(unit, (model,), tuple((prompt, seed) for seed in seeds))
    else:
        for model in job.models:
            yield from _sets(job, model, reader)


def _sets(job: Job, model: Model, reader: _Reader) -> Iterator[_Group]:
    """Yield a model's whole set, then the set without each block in turn; empty ones are left out."""
    usable = tuple(cell for cell in job.drawn() if reader.read((model,), *cell) is not None)
    blocks = [image_block(prompt, seed) for prompt, seed in usable]

    def reading(left_out: int | None) -> Iterator[Observed]:
        for (prompt, seed), block in zip(usable, blocks, strict=True):
            if block != left_out:
                observed = reader.observed((model,), prompt, seed)
                if isinstance(observed, Failure):
                    raise BrokenPlugin(
                        f"{model.label}: a sample was lost while it was measured: {observed.reason}"
                    )
                yield observed

    for left_out in (None, *sorted(set(blocks))):
        if any(block != left_out for block in blocks):
            unit = Unit((model.label,), None, None, _Rereadable(partial(reading, left_out)), reader.shared)
            yield _Group(unit, (model,), usable if left_out is None else (), left_out)


def image_block(prompt: Prompt, seed: int) -> int:
    """The jackknife block of an image, the same for every model."""
    digest = hashlib.sha256(f"{prompt.id}|{seed}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4]) % BLOCKS


def _found(job: Job, unit: Unit) -> tuple[list[Row | Rows] | Failure | Excluded, list[Note]]:
    """Have the metric measure a unit: its rows, or why there are none, and its notes.

    What it raises, and a value that cannot be, is the metric's fault.
    """
    where = f"on prompt {unit.prompt.id!r}, seed {unit.seed}" if unit.prompt else "on a model's set"
    with guarded(job.metric, where):
        said = list(job.instance.measure(unit))
        notes = [s for s in said if isinstance(s, Note)]
        found = [s for s in said if not isinstance(s, Note)]
        without = next((f for f in found if isinstance(f, Failure | Excluded)), None)
        if without is not None:
            return without, notes
        fault = _fault(job, unit, found)
        if fault is None:
            rows = [row for row in found if isinstance(row, Row | Rows)]
            return [row if isinstance(row, Rows) else replace(row, value=float(row.value)) for row in rows], notes
    raise BrokenPlugin(f"{described(job.metric)} gave {fault} {where}")


def _fault(job: Job, unit: Unit, found: Sequence[Any]) -> str | None:
    """Say what is wrong with the rows of a unit, if anything."""
    if not found and job.metric.info is not IMAGES:
        return "neither rows nor a reason why there are none"
    measures = {m.name: m for m in job.measures}
    given: set[tuple[Any, ...]] = set()
    for row in found:
        if not isinstance(row, Row | Rows):
            return f"something that is no Row but {type(row).__name__}"
        measure = measures.get(row.measure)
        if measure is None:
            return f"a row {row.measure!r}, which is none of its measures,"
        if isinstance(row, Rows) and (wrong := _misfit(unit, row)) is not None:
            return wrong
        if isinstance(row, Rows) and not len(row.values):
            continue
        values = np.asarray(row.values).tolist() if isinstance(row, Rows) else [float(row.value)]
        value = next((v for v in values if not math.isfinite(v)), None)
        if value is not None:
            return f"{value} for {row.measure!r}"
        low = -math.inf if measure.low is None else measure.low - 1e-9
        high = math.inf if measure.high is None else measure.high + 1e-9
        if not low <= min(values) <= max(values) <= high:
            value = min(values) if low > min(values) else max(values)
            return f"{value} for {row.measure!r}, outside its declared range,"
        if hidden := RESERVED & row.facets.keys():
            return f"a facet {min(hidden)!r}, the name of one of the table's columns,"
        if (strange := strange_facet(row.facets)) is not None:
            return f"a facet {strange!r} that is neither a text nor a number"
        told_apart_by = () if job.instance.group_by == "model" else sorted(row.facets.items())
        key = (row.measure, *told_apart_by)
        if key in given:
            return f"two rows of {row.measure!r} that no facet tells apart"
        given.add(key)
    return None


def _seeds(unit: Unit, rows: Rows) -> tuple[int, ...]:
    """Whose samples rows are of."""
    return unit.seeds if rows.seeds is None else rows.seeds


def _misfit(unit: Unit, rows: Rows) -> str | None:
    """Say how rows do not fit the samples of their unit, if so."""
    seeds = _seeds(unit, rows)
    if np.shape(rows.values) != (len(seeds),):
        return f"values of shape {np.shape(rows.values)} for {rows.measure!r} of {len(seeds)} samples"
    if len(set(seeds)) < len(seeds) or not set(seeds) <= set(unit.seeds):
        return f"seeds for {rows.measure!r} that are not those of the unit's samples, each once,"
    return None


def _columns(group: _Group, row: Row | Rows) -> dict[str, Any]:
    """The columns of a row beside its value.

    `seeds` says which samples a prompt's or a set's value is made of: only values made of the same are compared.
    """
    unit = group.unit
    columns: dict[str, Any] = {**(unit.prompt.facets if unit.prompt else {}), **row.facets}
    if len(unit.models) == 1:
        columns["model"] = unit.models[0]
    else:
        columns["model_a"], columns["model_b"] = unit.models
    if unit.prompt:
        columns["prompt"], columns["cluster"] = unit.prompt.id, unit.prompt.cluster_id
    if unit.seed is not None:
        columns["seed"] = unit.seed
    elif unit.prompt and isinstance(row, Row):
        columns["seeds"] = group.seeds
    if unit.prompt is None:
        columns["left_out"] = "none" if group.left_out is None else group.left_out
        if group.left_out is None:
            said = "|".join(f"{prompt.id}/{prompt.scene_digest}/{seed}" for prompt, seed in group.cells)
            columns["seeds"] = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    columns["measure"] = row.measure
    return columns
