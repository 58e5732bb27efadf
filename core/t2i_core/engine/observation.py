"""The second pass: judges answer every query whose answer is not in the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..api.adapter import combine
from ..api.array_codec import encode_arrays
from ..api.failure import Failure
from ..api.image import Image
from ..api.judge import Query
from ..api.metric_input import Sample
from ..api.observation_codec import decode, encode
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.progress import Progress, Task
from ..api.text import describe_error
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .answer_stream import stream_answers
from .generation import GeneratedImages
from .job import Job, Served, derived_key
from .lifecycle import Execution, keep_settings, open_component
from .query_index import (
    Failures,
    Item,
    QueryGroup,
    QueryIndex,
    QueryKeys,
    gather,
    group_queries,
    hash_images,
    index_queries,
    list_shared_queries,
    make_queries,
)
from .sample import SampleGrid, iterate_blocks


@dataclass(frozen=True)
class Observations:
    """Result of the second pass. The answers themselves are in the cache.

    Attributes:
        index: The keys of all queries.
        failures: Why queries have no answer, by their keys.
        damaged: Digests of the cache's images that were found damaged. Queries about them were not asked.
    """

    index: QueryIndex
    failures: Failures
    damaged: frozenset[str] = frozenset()


def observe(
    jobs: Sequence[Job],
    images: GeneratedImages,
    store: Store,
    how: Execution,
    progress: Progress,
    before: Observations | None = None,
) -> Observations:
    """Ask the queries that have no answer, judge by judge, and derive the numbers that metrics need.

    Args:
        jobs: The jobs.
        images: The images of the first pass.
        store: The cache.
        how: How components run.
        progress: Shows the progress to the user.
        before: What the pass gave before damaged images were repaired. Queries that failed then are not asked
            again, and those about an image that is still damaged fail now.
    """
    index: dict[tuple[int, tuple[str, ...]], QueryKeys] = {}
    failures, damaged = dict(before.failures if before else {}), set[str]()
    for group in group_queries(jobs):
        own = index_queries(group, store, images.failures)
        index |= own
        work = _GroupWork(group, own, images.failures, store, failures, damaged, is_repaired=before is not None)
        work.ask(how, progress)
        work.derive(progress)
    return Observations(index, failures, frozenset(damaged))


@dataclass(frozen=True)
class _ToAsk:
    key: str
    query: Query
    job: Job
    served: Served


@dataclass(frozen=True)
class _GroupWork:
    """The work on the queries of a group.

    Attributes:
        group: The group.
        index: The keys of its queries.
        without_image: Why samples have no image.
        store: The cache.
        failures: Why queries have no answer; the pass adds to them.
        damaged: Digests of damaged images of the cache; the pass adds to them.
        is_repaired: Whether damaged images were generated again before.
    """

    group: QueryGroup
    index: QueryIndex
    without_image: Failures
    store: Store
    failures: dict[str, Failure]
    damaged: set[str]
    is_repaired: bool

    def ask(self, how: Execution, progress: Progress) -> None:
        """Ask the queries that have no answer in the cache and have not failed."""
        left = self._survey()
        if not left.to_ask:
            return
        group, store = self.group, self.store
        who = describe_component(group.component)
        asked_for: dict[int, _ToAsk] = {}
        in_flight: set[str] = set()

        with (
            open_component(group.component, how) as judge,
            progress.task(f"{group.capability} by {group.component.spec}", left.to_ask, "queries") as task,
        ):

            def observe(queries: Iterable[Query]) -> Iterator[Any]:
                return iter(judge.observe(group.capability, queries))

            started, done = time.monotonic(), 0
            queries = self._open_queries(asked_for, in_flight, task)
            for query, answer in stream_answers(observe, queries, who, left.kept > 0):
                item = asked_for.pop(id(query))
                self._keep(item, query, answer, who)
                in_flight.discard(item.key)
                done += 1
                task.advance()
            keep_settings(store, group.component, judge, group.component.judge_fingerprint)
            if done:
                store.put_rate(group.component.judge_fingerprint, (time.monotonic() - started) / done)

    def derive(self, progress: Progress) -> None:
        """Derive numbers from images and observations where the cache lacks them."""
        if not any(served.need.derive for _, served in self.group.asking):
            return
        # counted after asking, because several needs may derive from one answer
        to_derive = sum(1 for _ in self._recall(self._choose_underived))
        if not to_derive:
            return
        with progress.task(f"numbers from {self.group.capability}", to_derive, "images") as task:
            for item in self._recall(self._choose_underived):
                value = self.store.get(item.key)
                if value is None:
                    continue
                try:
                    _derive(item, decode(value, self.group.capability, self.group.labels), self.store)
                except DamagedImage as error:
                    self._note_damage(error, item)
                task.advance()

    def _survey(self) -> _Left:
        """Count the queries without and with an answer, each query once."""
        left, seen = _Left(), set[bytes]()
        for block in iterate_blocks(chain.from_iterable(self.index.values())):
            for key, value in zip(block, self.store.get_many(block), strict=True):
                packed = bytes.fromhex(key)
                if packed in seen or key in self.failures:
                    continue
                seen.add(packed)
                if value is None:
                    left.to_ask += 1
                else:
                    left.kept += 1
        return left

    def _open_queries(self, asked_for: dict[int, _ToAsk], in_flight: set[str], task: Task) -> Iterator[Query]:
        """Yield the queries that have no answer, with their images read.

        Images are opened here, so that a damaged one fails alone and is never blamed on the judge.

        Args:
            asked_for: Gets what each query is about, by its `id`.
            in_flight: Gets the key of each query; whoever keeps its answer removes it.
            task: Shows the progress.
        """
        shown: tuple[Image, ...] = ()
        for item in self._recall(self._choose_unanswered, each_once=True):
            if item.key in in_flight:
                continue
            try:
                query = self._load_images(item.query, shown)
            except DamagedImage as error:
                self._note_damage(error, item)
                task.advance()
            else:
                shown = query.images
                in_flight.add(item.key)
                asked_for[id(query)] = item
                yield query

    def _load_images(self, query: Query, shown: Sequence[Image]) -> Query:
        """Return a query with its images read; those of the query before, `shown`, are the same objects."""
        truth = getattr(self.group.component.info, "reads_truth", False)
        before = {image.identity: image for image in shown}
        # copies, so that the pixels are released with the query
        images = tuple(
            before.get(i.identity) or replace(i, truth=self.store.truth(i.digest) if truth else None)
            for i in query.images
        )
        for image in images:
            _ = image.pixels
        return replace(query, images=images)

    def _note_damage(self, error: DamagedImage, item: _ToAsk) -> None:
        """Note damaged images of the cache; record a failure if they cannot be generated again."""
        damaged = {image.digest for image in item.query.images if self.store.holds(image)}
        if damaged and not self.is_repaired:
            self.damaged.update(damaged)
        else:
            self.failures[item.key] = Failure(str(error))

    def _keep(self, item: _ToAsk, query: Query, answer: Any, who: str) -> None:
        """Store an answer and what is derived from it, or record why that fails."""
        group = self.group
        try:
            value = b"" if isinstance(answer, Failure) else encode(answer, group.capability, group.labels, query)
        except (TypeError, ValueError) as error:
            answer = Failure(f"{who} {error}")
        except Exception as error:  # any fault of the answer is this query's failure
            answer = Failure(f"{who} gave an answer that cannot be kept: {describe_error(error)}")
        if isinstance(answer, Failure):
            self.failures[item.key] = answer
            return
        value = self.store.put(item.key, value)
        if item.served.need.derive:
            _derive(replace(item, query=query), decode(value, group.capability, group.labels), self.store)

    def _choose_unanswered(self, job: Job, served: Served, keys: Sequence[str]) -> set[str]:
        """Choose queries that have no answer in the cache and did not fail in this run."""
        values = self.store.get_many(keys)
        return {k for k, value in zip(keys, values, strict=True) if value is None and k not in self.failures}

    def _choose_underived(self, job: Job, served: Served, keys: Sequence[str]) -> set[str]:
        """Choose queries with an answer from which some numbers are not derived yet."""
        if served.need.derive is None:
            return set()
        derived = self.store.get_many([derived_key(key, served, job.metric) for key in keys])
        values = self.store.get_many(keys)
        each = zip(keys, values, derived, strict=True)
        return {key for key, value, done in each if value is not None and done is None}

    def _recall(self, choose: Chooser, each_once: bool = False) -> Iterator[_ToAsk]:
        """Yield the chosen queries. Only their images are looked up.

        Queries about one image follow each other, whichever needs and metrics ask them. Those about an image that
        is known to be damaged are left out.

        Args:
            choose: Chooses the keys of a need.
            each_once: True to yield a query that several needs ask only once.
        """
        together: dict[tuple[int, ...], list[tuple[Job, Served, tuple[SampleGrid, ...]]]] = {}
        for job, served in self.group.asking:
            if served.need.per == "run":
                for key, query in list_shared_queries(job, served):
                    if choose(job, served, [key]):
                        yield _ToAsk(key, query, job, served)
                continue
            for grids in job.groups():
                together.setdefault(tuple(map(id, grids)), []).append((job, served, grids))
        for asking in together.values():
            for block in iterate_blocks(zip(*asking[0][2], strict=True)):
                parts = [self._choose_part(job, served, grids, block, choose) for job, served, grids in asking]
                if each_once:
                    every = set().union(*(part.chosen for part in parts))
                    parts = [replace(part, chosen=every) for part in parts]
                for number in range(len(block)):
                    for part in parts:
                        for item in part.make_queries(number):
                            if self.damaged.isdisjoint(image.digest for image in item.query.images):
                                yield item

    def _choose_part(
        self, job: Job, served: Served, grids: Sequence[SampleGrid], block: Sequence[Item], choose: Chooser
    ) -> _BlockPart:
        """Choose queries of one need about a block of items, and look up their images."""
        keys = self.index[served.address(grids)]
        own = [keys.of(item[0].index) for item in block]
        chosen = choose(job, served, list(chain.from_iterable(own)))
        wanted = [number for number, of_item in enumerate(own) if not chosen.isdisjoint(of_item)]
        found = gather([block[n] for n in wanted], served.need, self.store, self.without_image) if wanted else []
        return _BlockPart(job, served, keys, block, chosen, dict(zip(wanted, found, strict=True)))


Chooser = Callable[[Job, Served, Sequence[str]], set[str]]
"""Chooses the keys of a need to work on."""


@dataclass
class _Left:
    """Numbers of queries without and with an answer, each query counted once."""

    to_ask: int = 0
    kept: int = 0


@dataclass
class _BlockPart:
    """The queries of one need about a block of items.

    Attributes:
        job: The job.
        served: The need.
        keys: The keys of all its queries.
        block: The items.
        chosen: The keys of the queries to yield, which each query leaves when it is yielded.
        samples: The samples of the items that have chosen queries, by their place in the block.
    """

    job: Job
    served: Served
    keys: QueryKeys
    block: Sequence[Item]
    chosen: set[str]
    samples: Mapping[int, tuple[Sample, ...] | Failure]

    def make_queries(self, number: int) -> Iterator[_ToAsk]:
        """Yield the chosen queries about one item of the block; each only once, at the first item that has it."""
        if number not in self.samples:
            return
        item = self.block[number]
        queries = make_queries(self.job, self.served, item, self.samples[number])
        keys, made_from = self.keys.of(item[0].index), self.keys.images_of(item[0].index)
        # an image that is gone by now leaves fewer queries: measuring finds that
        for key, images, query in zip(keys, made_from, queries, strict=False):
            # another process may have made a damaged image again: this answer has another key
            if key in self.chosen and images == hash_images(query.images):
                self.chosen.discard(key)
                yield _ToAsk(key, query, self.job, self.served)


def _derive(item: _ToAsk, observation: Any, store: Store) -> None:
    derive = item.served.need.derive
    assert derive is not None
    image = item.query.images[0]
    with guard_plugin(item.job.metric, f"in {derive.name!r} on {image.path}", reraise_damage=True):
        arrays = derive.function(image.pixels, combine(item.served.chain, item.query, [observation]))
        value = encode_arrays(arrays)
    store.put(derived_key(item.key, item.served, item.job.metric), value)
