"""What a metric measures one after another: units, read from the store with the answers that they need."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any

from ..api.adapter import combine, expand
from ..api.errors import BrokenPlugin, FailedRun
from ..api.failure import Failure
from ..api.metric import Answer, Observed, Sample, Unit
from ..api.observation import TYPES, decode_arrays
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.progress import Task
from ..api.prompt import Prompt
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .job import Failures, Job, Model, Served, derived_key, keys_of_images_alone
from .observation import gathered, image_gone, keyed, shared_samples
from .sample_counts import Cell, Measured

BLOCKS = 20
"""Blocks of images that are left out in turn for the jackknife of a model's set."""


@dataclass(frozen=True)
class Group:
    """A unit, with the samples that it stands for; none where it is a set without one of its blocks."""

    unit: Unit
    models: tuple[Model, ...]
    cells: tuple[Cell, ...]
    left_out: int | None = None

    @cached_property
    def seeds(self) -> str:
        """The seeds that a prompt's value is made of."""
        return " ".join(str(seed) for _, seed in self.cells)


class Reader:
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
            elif digest is not None:
                images[seed] = digest
            elif (image := self.store.image(key)) is not None:
                images[seed] = image.identity
            else:
                raise image_gone(self.store, (model,), prompt, seed)
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
                f"{describe_component(self.job.metric)} cannot be measured without its {served.need.name}: "
                f"{got.reason}"
            )
        return got

    def _answers(self, served: Served, model: Model, samples: tuple[Sample, ...]) -> list[Answer] | Failure:
        kept: list[tuple[str, Any]] = []
        with guard_plugin(self.job.metric, "to say what it asks", heeds_damage=True):
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
                stored = self.store.get(derived_key(part[0][0], served, self.job.metric))
                if stored is None:
                    raise self.store.gone("what was derived from an observation")
                derived = decode_arrays(stored)
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
        raise BrokenPlugin(f"{describe_component(judge)} gave {error}") from error


@dataclass(frozen=True)
class _Rereadable:
    """Observed items that are read again each time they are iterated."""

    read: Callable[[], Iterator[Observed]]

    def __iter__(self) -> Iterator[Observed]:
        return self.read()


def groups(job: Job, reader: Reader) -> Iterator[Group]:
    """Yield each unit with the samples that it stands for."""
    by = job.instance.group_by
    if by in ("sample", "pair"):
        for models, prompt, seed in job.items():
            observed = reader.read(models, prompt, seed)
            if observed is not None:
                labels = tuple(m.label for m in models)
                unit = Unit(labels, prompt, seed, (observed,), reader.shared)
                yield Group(unit, models, ((prompt, seed),))
    elif job.instance.stacked:
        for model in job.models:
            for prompt, cells in groupby(job.drawn(), key=lambda cell: cell[0]):
                seeds, stacked = reader.stack(model, prompt, [seed for _, seed in cells])
                if seeds:
                    unit = Unit((model.label,), prompt, None, (), reader.shared, stacked, seeds)
                    yield Group(unit, (model,), tuple((prompt, seed) for seed in seeds))
    elif by == "prompt":
        for model in job.models:
            for prompt, cells in groupby(job.drawn(), key=lambda cell: cell[0]):
                read = ((reader.read((model,), prompt, seed), seed) for _, seed in cells)
                usable = [(observed, seed) for observed, seed in read if observed is not None]
                if usable:
                    observed_all, seeds = tuple(o for o, _ in usable), tuple(seed for _, seed in usable)
                    unit = Unit((model.label,), prompt, None, observed_all, reader.shared, seeds=seeds)
                    yield Group(unit, (model,), tuple((prompt, seed) for seed in seeds))
    else:
        for model in job.models:
            yield from _sets(job, model, reader)


def _sets(job: Job, model: Model, reader: Reader) -> Iterator[Group]:
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
            yield Group(unit, (model,), usable if left_out is None else (), left_out)


def image_block(prompt: Prompt, seed: int) -> int:
    """The jackknife block of an image, the same for every model."""
    digest = hashlib.sha256(f"{prompt.id}|{seed}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4]) % BLOCKS
