"""The third stage: arithmetic. Units are read from the store, one after another, and measured."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..capabilities import combine, expand
from ..errors import BrokenPlugin, T2IError
from ..generation import Failure
from ..images import DamagedImage
from ..metrics import Answer, Observed, Row, Sample, Unit
from ..observations import TYPES, Labels, arrays_from_bytes
from ..progress import Progress
from ..prompts import Prompt
from ..store import Store
from .jobs import Failures, Job, Model, Served, derived_key
from .making import described
from .observing import gather, judge_labels, keyed
from .table import TableBuilder

BLOCKS = 20
"""Blocks of images that are left out in turn for the jackknife of a model's set."""


@dataclass
class Counts:
    """How many samples (or pairs) there were, and what became of the others."""

    ok: int = 0
    failed: int = 0
    missing: int = 0

    @property
    def planned(self) -> int:
        """All of them."""
        return self.ok + self.failed + self.missing


@dataclass(frozen=True)
class Lost:
    """One sample or pair that has no value, and why."""

    models: tuple[str, ...]
    prompt: str
    seed: int
    failure: Failure


@dataclass
class Measured:
    """What became of a job's samples, beside the rows."""

    counts: Counts
    lost: list[Lost] = field(default_factory=list)


def measure(job: Job, store: Store, failures: Failures, rows: TableBuilder, progress: Progress) -> Measured:
    """Measure every unit of a job into `rows`.

    Samples that have no image or no answer are counted and listed, never scored.
    """
    reader = _Reader(job, store, failures)
    with progress.task(f"measuring {job.metric.spec}", job.size(), "samples") as task:
        reader.advance = task.advance
        for unit, left_out in _units(job, reader):
            for row in _rows(job, unit):
                rows.append(row.value, _columns(unit, left_out, row))
    return Measured(reader.counts, reader.lost)


class _Reader:
    """Reads samples with their answers, and counts them once."""

    def __init__(self, job: Job, store: Store, failures: Failures) -> None:
        self.job, self.store, self.failures = job, store, failures
        self.counts = Counts()
        self.lost: list[Lost] = []
        self.advance: Callable[[int], None] = lambda count: None
        self.labels: dict[str, Labels | None] = {
            s.need.name: judge_labels(s.choice.judge) if s.choice else None for s in job.needs
        }

    def read(self, models: Sequence[Model], prompt: Prompt, seed: int, count: bool) -> Observed | None:
        """Return one item with its answers, or None where it failed; `count` it unless it was counted before."""
        result = self._observed(models, prompt, seed)
        if count:
            self.advance(1)
            if isinstance(result, Observed):
                self.counts.ok += 1
            else:
                if result.missing:
                    self.counts.missing += 1
                else:
                    self.counts.failed += 1
                self.lost.append(Lost(tuple(m.label for m in models), prompt.id, seed, result))
        return result if isinstance(result, Observed) else None

    def _observed(self, models: Sequence[Model], prompt: Prompt, seed: int) -> Observed | Failure:
        samples: tuple[Sample, ...] = tuple(Sample(m.label, prompt, seed) for m in models)
        if self.job.generates:
            found = gather(self.job, models, prompt, seed, None, self.store, self.failures)
            if isinstance(found, Failure):
                return found
            samples = found
        answers: dict[str, list[Answer]] = {}
        for served in self.job.needs:
            try:
                got = self._answers(served, models[0], samples)
            except DamagedImage as error:
                return Failure(str(error))
            if isinstance(got, Failure):
                return got
            answers[served.need.name] = got
        return Observed(samples, answers)

    def _answers(self, served: Served, model: Model, samples: tuple[Sample, ...]) -> list[Answer] | Failure:
        kept: list[tuple[str, Any]] = []
        for key, _ in keyed(served, model, samples):
            if key in self.failures.observations:
                return self.failures.observations[key]
            value = self.store.get(key)
            if value is None:
                return Failure("not observed yet", missing=True)
            kept.append((key, TYPES[served.asked].from_bytes(value, self.labels[served.need.name])))
        chain = served.choice.chain if served.choice else ()
        answers, taken = [], 0
        for query in served.need.queries(samples):
            width = len(expand(chain, query))
            part = kept[taken : taken + width]
            taken += width
            derived = {}
            if served.need.derive:
                key = derived_key(part[0][0], served.need.derive, self.job.metric.code_digest)
                stored = self.store.get(key)
                if stored is None:
                    return Failure("not derived yet", missing=True)
                derived = arrays_from_bytes(stored)
            answers.append(Answer(combine(chain, query, [observation for _, observation in part]), derived))
        return answers


@dataclass(frozen=True)
class _Rereadable:
    """Observed items that are read again each time they are iterated."""

    read: Callable[[], Iterator[Observed]]

    def __iter__(self) -> Iterator[Observed]:
        return self.read()


def _units(job: Job, reader: _Reader) -> Iterator[tuple[Unit, int | None]]:
    """Yield each unit with the block that is left out of it, if any."""
    by = job.instance.group_by
    if by in ("sample", "pair"):
        for models, prompt, seed in job.items():
            observed = reader.read(models, prompt, seed, count=True)
            if observed is not None:
                yield Unit(tuple(m.label for m in models), prompt, seed, (observed,)), None
    elif by == "prompt":
        for model in job.models:
            for prompt in job.own_prompts:
                read = (reader.read((model,), prompt, seed, count=True) for seed in job.seeds)
                group = tuple(observed for observed in read if observed is not None)
                if group:
                    yield Unit((model.label,), prompt, None, group), None
    else:
        for model in job.models:
            yield from _sets(job, model, reader)


def _sets(job: Job, model: Model, reader: _Reader) -> Iterator[tuple[Unit, int | None]]:
    """Yield a model's whole set, then the set without each block in turn; empty ones are left out."""
    cells = [(prompt, seed) for prompt in job.own_prompts for seed in job.seeds]
    usable = [cell for cell in cells if reader.read((model,), *cell, count=True) is not None]
    blocks = [image_block(prompt, seed) for prompt, seed in usable]

    def reading(left_out: int | None) -> Iterator[Observed]:
        for (prompt, seed), block in zip(usable, blocks, strict=True):
            if block != left_out:
                observed = reader.read((model,), prompt, seed, count=False)
                assert observed is not None  # it was there a moment ago, and nothing of the store is removed
                yield observed

    for left_out in (None, *sorted(set(blocks))):
        if any(block != left_out for block in blocks):
            yield Unit((model.label,), None, None, _Rereadable(partial(reading, left_out))), left_out


def image_block(prompt: Prompt, seed: int) -> int:
    """The jackknife block of an image, the same for every model."""
    digest = hashlib.sha256(f"{prompt.id}|{seed}".encode()).digest()
    return int.from_bytes(digest[:4]) % BLOCKS


def _rows(job: Job, unit: Unit) -> Iterator[Row]:
    """Have the metric measure a unit. What it raises, or a value that is no number, is the metric's fault."""
    who = described(job.metric)
    where = f"prompt {unit.prompt.id!r}" if unit.prompt else "a model's set"
    known = {m.name for m in job.metric.info.measures}
    try:
        rows = list(job.instance.measure(unit))
    except T2IError:
        raise
    except Exception as error:
        raise BrokenPlugin(
            f"{who} failed on {where}, seed {unit.seed}: {type(error).__name__}: {error}"
        ) from error
    for row in rows:
        if row.measure not in known:
            raise BrokenPlugin(f"{who} gave a row {row.measure!r}, which is none of its measures")
        if not math.isfinite(row.value):
            raise BrokenPlugin(f"{who} gave {row.value} for {row.measure!r} on {where}, seed {unit.seed}")
        yield row


def _columns(unit: Unit, left_out: int | None, row: Row) -> dict[str, Any]:
    """The columns of a row beside its value; a facet cannot hide one of core's."""
    columns: dict[str, Any] = {**(unit.prompt.facets if unit.prompt else {}), **row.facets}
    if len(unit.models) == 1:
        columns["model"] = unit.models[0]
    else:
        columns["model_a"], columns["model_b"] = unit.models
    if unit.prompt:
        columns["prompt"], columns["cluster"] = unit.prompt.id, unit.prompt.cluster_id
    if unit.seed is not None:
        columns["seed"] = unit.seed
    if unit.prompt is None:
        columns["left_out"] = "none" if left_out is None else left_out
    columns["measure"] = row.measure
    return columns
