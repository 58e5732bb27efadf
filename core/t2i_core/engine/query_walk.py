"""A walk over the queries of a group: they are made anew from their samples, always in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ..api.failure import Failure
from ..api.judge import Query
from ..api.metric_input import Sample
from ..storage.store import Store
from .job import Job, Served
from .query_index import (
    Complete,
    Failures,
    Item,
    QueryGroup,
    QueryIndex,
    QueryKeys,
    gather,
    hash_images,
    list_shared_queries,
    make_queries,
)
from .sample import iterate_blocks

Choose = Callable[[Job, Served, Sequence[str]], set[str]]
"""Chooses some of a need's keys."""


@dataclass(frozen=True)
class PlannedQuery:
    """A query with its key, and who needs its answer.

    Attributes:
        key: Key of its observation in the cache.
        query: The query. Nothing else holds its images, so that their pixels are released with it.
        job: The job that asks.
        served: The need.
    """

    key: str
    query: Query
    job: Job
    served: Served


@dataclass(frozen=True)
class QueryWalk:
    """The queries of a group, with all that it takes to make them.

    Attributes:
        group: The group.
        index: The keys of its queries.
        without_image: Why samples have no image.
        store: The cache.
        complete: Adds earlier answers to samples.
    """

    group: QueryGroup
    index: QueryIndex
    without_image: Failures
    store: Store
    complete: Complete

    def list_keys(self, job: Job, served: Served) -> Iterator[str]:
        """Yield the keys of the queries about the items of one need."""
        return chain.from_iterable(self.index[served.address(grids)] for grids in job.groups())

    def make_queries(self, choose: Choose) -> Iterator[PlannedQuery]:
        """Yield the queries whose keys are chosen. Only their images are looked up.

        Queries about one image follow each other, whichever needs and metrics ask them. A query that several
        needs or several equal images share is yielded for each of them.

        Args:
            choose: Chooses among the keys of each need, block by block.
        """
        for job, served in self.group.per_run():
            queries = list_shared_queries(job, served)
            chosen = choose(job, served, [key for key, _ in queries])
            for key, query in queries:
                if key in chosen:
                    own = replace(query, images=tuple(map(replace, query.images)))
                    yield PlannedQuery(key, own, job, served)
        for grids, asking in self.group.per_item():
            keys = [self.index[served.address(grids)] for _, served in asking]
            for block in iterate_blocks(zip(*grids, strict=True)):
                parts = [
                    _choose_part(job, served, of_need, block, choose)
                    for (job, served), of_need in zip(asking, keys, strict=True)
                ]
                yield from self._make_block(block, parts)

    def _make_block(self, block: Sequence[Item], parts: Sequence[_BlockPart]) -> Iterator[PlannedQuery]:
        """Yield the chosen queries about a block of items."""
        samples: dict[str, dict[int, tuple[Sample, ...] | Failure]] = {}
        wanted = sorted(set().union(*(part.numbers for part in parts)))
        for need in {part.served.need.images: part.served.need for part in parts if part.numbers}.values():
            items = [block[number] for number in wanted]
            samples[need.images] = dict(
                zip(wanted, gather(items, need, self.store, self.without_image), strict=True)
            )
        later = {id(part): self._complete(part, block, samples) for part in parts if part.served.need.after}
        for number in wanted:
            of_item = {images: of_block.pop(number) for images, of_block in samples.items()}
            for part in parts:
                if number in part.numbers:
                    completed = later.get(id(part))
                    own = of_item[part.served.need.images] if completed is None else completed.pop(number)
                    yield from part.make_queries(block[number], own)

    def _complete(
        self,
        part: _BlockPart,
        block: Sequence[Item],
        samples: Mapping[str, Mapping[int, tuple[Sample, ...] | Failure]],
    ) -> dict[int, tuple[Sample, ...] | Failure]:
        """Return the samples of a need's chosen queries, with the earlier answers that these depend on."""
        numbers = sorted(part.numbers)
        own = [samples[part.served.need.images][number] for number in numbers]
        items = [block[number] for number in numbers]
        return dict(zip(numbers, self.complete(part.job, part.served, items, own), strict=True))


@dataclass(frozen=True)
class _BlockPart:
    """Queries of one need about a block of items.

    Attributes:
        job: The job.
        served: The need.
        keys: The keys of all its queries.
        chosen: The chosen keys.
        numbers: The places of the items that have chosen queries.
    """

    job: Job
    served: Served
    keys: QueryKeys
    chosen: set[str]
    numbers: set[int]

    def make_queries(self, item: Item, samples: tuple[Sample, ...] | Failure) -> Iterator[PlannedQuery]:
        """Yield the chosen queries about one item."""
        queries = make_queries(self.job, self.served, item, samples)
        keys, made_from = self.keys.of(item[0].index), self.keys.images_of(item[0].index)
        # an image that is gone by now leaves fewer queries: measuring finds that
        for key, images, query in zip(keys, made_from, queries, strict=False):
            # another process may have made a damaged image again: this answer has another key
            if key in self.chosen and images == hash_images(query.images):
                yield PlannedQuery(key, query, self.job, self.served)


def _choose_part(job: Job, served: Served, keys: QueryKeys, block: Sequence[Item], choose: Choose) -> _BlockPart:
    own = [keys.of(item[0].index) for item in block]
    chosen = choose(job, served, list(chain.from_iterable(own)))
    numbers = {number for number, of_item in enumerate(own) if not chosen.isdisjoint(of_item)} if chosen else set()
    return _BlockPart(job, served, keys, chosen, numbers)
