"""Reader of units: what a metric measures, read from the cache with the answers."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from types import MappingProxyType
from typing import Any

from ..api.errors import BrokenPlugin, FailedRun
from ..api.facet_levels import Level, split_levels
from ..api.failure import Failure
from ..api.metric import PromptMetric, SetMetric, StackedMetric
from ..api.metric_input import Answer, Observed, Sample, Unit
from ..api.observation_codec import decode_stacked
from ..api.plugin_guard import describe_component
from ..api.progress import Task
from ..api.prompt import Prompt
from ..results.observed_units import join_answers, make_sample_unit
from ..storage.store import Store
from .answer_reader import AnswerReader
from .facets import MOST_LEVELS, count_levels, list_facets
from .generation import GeneratedImages
from .job import Job, Served, describe_judges
from .observation import Observations
from .query_index import Item, gather_made, make_gone_error, shared_samples
from .sample import Model, PlannedSample, SampleGrid, iterate_blocks

BLOCKS = 20
"""Number of blocks of images that the jackknife of a model's set leaves out in turn."""


@dataclass(frozen=True)
class Group:
    """A unit with its samples.

    Attributes:
        unit: The unit.
        models: Its model, or the two models of a pair.
        samples: The samples that it counts for; none if it is a part of a set.
        left_out: The block that is left out of a set; None for a whole unit.
        level: The facet and its level, if a set holds the images of this level only.
    """

    unit: Unit
    models: tuple[Model, ...]
    samples: Sequence[PlannedSample]
    left_out: int | None = None
    level: Mapping[str, Level] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """True unless it is a part of a set."""
        return self.left_out is None and not self.level

    @cached_property
    def seeds(self) -> str:
        """The seeds that a prompt's value rests on."""
        return " ".join(str(sample.seed) for sample in self.samples)


@dataclass(frozen=True)
class Lost:
    """An item that cannot be measured, because it has no image or no answer.

    Attributes:
        item: The item.
        why: The reason.
    """

    item: Item
    why: Failure


class Reader:
    """Reads samples with their answers from the cache.

    Args:
        job: The job.
        images: The images of the first pass.
        observations: The observations of the second pass.
        store: The cache.
        task: Shows the progress.
    """

    def __init__(
        self, job: Job, images: GeneratedImages, observations: Observations, store: Store, task: Task
    ) -> None:
        self.job, self.images, self.observations, self.store, self.task = job, images, observations, store, task
        self.answers = AnswerReader(observations.index, observations.failures, store)
        self.judges = describe_judges(job.needs)
        self.shared = {s.need.name: self._read_shared(s) for s in job.needs if s.need.per == "run"}

    def read(self, items: Iterable[Item]) -> Iterator[tuple[Item, Observed] | Lost]:
        """Yield each item with its answers, or with the reason why it has none."""
        for block in iterate_blocks(items):
            samples: list[tuple[Sample, ...] | Failure]
            if self.job.generates:
                samples = gather_made(block, self.store, self.images.failures)
            else:
                samples = [tuple(Sample(p.model.label, p.prompt, p.seed) for p in item) for item in block]
            answers = self.answers.read(self.job, block, samples).items()
            for number, (item, own) in enumerate(zip(block, samples, strict=True)):
                found = (
                    own if isinstance(own, Failure) else join_answers(own, {n: of[number] for n, of in answers})
                )
                yield Lost(item, found) if isinstance(found, Failure) else (item, found)

    def stack(self, samples: Sequence[PlannedSample]) -> tuple[list[PlannedSample], dict[str, Any], list[Lost]]:
        """Read a prompt's samples in bulk.

        Returns:
            The samples with all answers, one stacked observation for each need, and the other samples.
        """
        lost = {s.index: self.images.failures[s.key] for s in samples if s.key in self.images.failures}
        answers: dict[str, dict[int, bytes]] = {}
        for served in self.job.needs:
            own = answers.setdefault(served.need.name, {})
            asked = [sample for sample in samples if sample.index not in lost]
            keys = [self._get_keys(served, (sample,)) for sample in asked]
            for sample, found in zip(asked, keys, strict=True):
                if not found:
                    raise make_gone_error(self.store, (sample,))
            values = self.store.get_many([key for (key,) in keys])
            for sample, (key,), value in zip(asked, keys, values, strict=True):
                if key in self.observations.failures:
                    lost[sample.index] = self.observations.failures[key]
                elif value is None:
                    raise self.store.gone("an observation")
                else:
                    own[sample.index] = value
        left = [sample for sample in samples if sample.index not in lost]
        stacked = {
            s.need.name: _stack_answers(s, left[0].model, [answers[s.need.name][sample.index] for sample in left])
            for s in self.job.needs
            if left
        }
        return left, stacked, [Lost((s,), lost[s.index]) for s in samples if s.index in lost]

    def _get_keys(self, served: Served, item: Item) -> list[str]:
        """Return the keys of the queries about an item."""
        labels = tuple(planned.model.label for planned in item)
        return self.observations.index[id(served), labels].of(item[0].index)

    def _read_shared(self, served: Served) -> Sequence[Answer]:
        """Return the answers that are asked once per run; without them nothing can be measured."""
        samples = shared_samples(self.job)
        keys = list(self.observations.index[served.address(self.job.grids)])
        values = dict(zip(keys, self.store.get_many(keys), strict=True))
        got = self.answers.combine(self.job, served, keys, samples, values, {})
        if isinstance(got, Failure):
            raise FailedRun(
                f"{describe_component(self.job.metric)} cannot be measured without its {served.need.name}: "
                f"{got.reason}"
            )
        return got


def _stack_answers(served: Served, model: Model, data: Sequence[bytes]) -> Any:
    """Read stored answers as one observation.

    Raises:
        BrokenPlugin: If they do not fit each other.
    """
    try:
        return decode_stacked(data, served.asked, served.labels)
    except ValueError as error:
        judge = served.choice.judge if served.choice else model.component
        raise BrokenPlugin(f"{describe_component(judge)} gave {error}") from error


@dataclass(frozen=True)
class _Rereadable:
    """Observed items that are read again each time they are iterated."""

    read: Callable[[], Iterator[Observed]]

    def __iter__(self) -> Iterator[Observed]:
        return self.read()


def read_units(job: Job, reader: Reader) -> Iterator[Group | Lost]:
    """Yield each unit with its samples, and the items that cannot be measured."""
    if issubclass(job.unit_kind, SetMetric):
        for grid in job.grids:
            yield from _read_sets(job, grid, reader)
    elif issubclass(job.unit_kind, PromptMetric):
        for grid in job.grids:
            for _, samples in groupby(grid, key=lambda sample: sample.prompt):
                yield from _read_prompt(job, reader, list(samples))
    else:
        for read in reader.read(job.items()):
            reader.task.advance()
            if isinstance(read, Lost):
                yield read
                continue
            item, answered = read
            models = tuple(planned.model for planned in item)
            yield Group(make_sample_unit(answered, reader.shared, reader.judges), models, item[:1])


def _read_prompt(job: Job, reader: Reader, samples: Sequence[PlannedSample]) -> Iterator[Group | Lost]:
    """Yield the unit of a prompt, unless no sample has all answers, after the samples that lack some."""
    observed: list[Observed] = []
    stacked: dict[str, Any] = {}
    if job.unit_kind is StackedMetric:
        left, stacked, lost = reader.stack(samples)
        yield from lost
    else:
        left = []
        for read in reader.read((sample,) for sample in samples):
            if isinstance(read, Lost):
                yield read
            else:
                left.append(read[0][0])
                observed.append(read[1])
    reader.task.advance(len(samples))
    if left:
        model, seeds = left[0].model, tuple(sample.seed for sample in left)
        unit = Unit(
            (model.label,), left[0].prompt, None, tuple(observed), reader.shared, stacked, seeds, reader.judges
        )
        yield Group(unit, (model,), left)


class _Chosen(Sequence[PlannedSample]):
    """Some samples of a grid, by their indices, packed because a model's set may be large."""

    def __init__(self, grid: SampleGrid, indices: array[int]) -> None:
        self._grid, self._indices = grid, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> Any:
        return self._grid[self._indices[index]]


def _read_sets(job: Job, grid: SampleGrid, reader: Reader) -> Iterator[Group | Lost]:
    """Yield a model's whole set, then the sets of the levels of facets, after the samples that lack answers."""
    indices = array("Q")
    for read in reader.read((sample,) for sample in grid):
        reader.task.advance()
        if isinstance(read, Lost):
            yield read
        else:
            indices.append(read[0][0].index)
    yield from _read_set(job, _Chosen(grid, indices), grid.model, reader)
    for facet in list_facets(job.measures, job.prompts):
        if count_levels(facet, job.prompts) > MOST_LEVELS:
            continue
        levels: dict[Level, array[int]] = {}
        for index in indices:
            prompt = grid[index].prompt
            for level in split_levels(prompt.facets[facet]) if facet in prompt.facets else ():
                levels.setdefault(level, array("Q")).append(index)
        for level, own in levels.items():
            yield from _read_set(job, _Chosen(grid, own), grid.model, reader, {facet: level})


def _read_set(
    job: Job, samples: _Chosen, model: Model, reader: Reader, level: Mapping[str, Level] = MappingProxyType({})
) -> Iterator[Group]:
    """Yield a set, then the set without each of its blocks in turn; empty sets are skipped."""
    whole_prompts = isinstance(job.instance, SetMetric) and job.instance.whole_prompts
    blocks = bytes(find_block(sample.prompt, None if whole_prompts else sample.seed) for sample in samples)

    def reading(left_out: int | None) -> Iterator[Observed]:
        chosen = ((sample,) for sample, block in zip(samples, blocks, strict=True) if block != left_out)
        for read in reader.read(chosen):
            if isinstance(read, Lost):
                raise BrokenPlugin(f"{model.label}: a sample was lost while it was measured: {read.why.reason}")
            yield read[1]

    for left_out in (None, *sorted(set(blocks))):
        if any(block != left_out for block in blocks):
            unit = Unit(
                (model.label,),
                None,
                None,
                _Rereadable(partial(reading, left_out)),
                reader.shared,
                judges=reader.judges,
            )
            counted = samples if left_out is None and not level else ()
            yield Group(unit, (model,), counted, left_out, level)


def find_block(prompt: Prompt, seed: int | None) -> int:
    """Return the jackknife block of an image, or of a prompt if the seed is None; the same for every model."""
    name = prompt.id if seed is None else f"{prompt.id}|{seed}"
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]) % BLOCKS
