"""The second pass: judges answer every query whose answer is not in the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api.adapter import combine
from ..api.array_codec import encode_arrays
from ..api.errors import BadFolder
from ..api.failure import Failure
from ..api.image import Image
from ..api.judge import Capability, Query
from ..api.metric_input import Need, Sample
from ..api.observation import Labels
from ..api.observation_codec import decode, encode
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.progress import Progress, Task
from ..api.text import describe_error
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .answer_stream import stream_answers
from .component import Component
from .job import Job, Served, derived_key, keys_of_images_alone, observation_key, observation_key_head
from .ledger import Item, Ledger, QueryKeys
from .lifecycle import Execution, keep_settings, open_component
from .sample import SampleGrid, iterate_blocks


@dataclass(frozen=True)
class _ToAsk:
    key: str
    query: Query
    job: Job
    served: Served


@dataclass(frozen=True)
class QueryGroup:
    """All queries for one judge, or for a model about itself, in one capability.

    Attributes:
        component: The judge or model.
        capability: The capability that it is asked for.
        asking: The jobs and needs that ask.
    """

    component: Component[Any]
    capability: Capability
    asking: tuple[tuple[Job, Served], ...]

    @property
    def labels(self) -> Labels | None:
        """The classes that the judge declares."""
        return self.asking[0][1].labels


def group_queries(jobs: Iterable[Job]) -> list[QueryGroup]:
    """Gather needs by judge and capability, so that each judge is created once."""
    gathered: dict[tuple[str, Capability], QueryGroup] = {}
    for job in jobs:
        for served in job.needs:
            if served.choice:
                askers: list[tuple[Component[Any], Job]] = [(served.choice.judge, job)]
            else:
                askers = [(grid.model.component, replace(job, grids=(grid,))) for grid in job.grids]
            for component, own in askers:
                key = (component.judge_fingerprint, served.asked)
                group = gathered.get(key) or QueryGroup(component, served.asked, ())
                gathered[key] = replace(group, asking=(*group.asking, (own, served)))
    return list(gathered.values())


def observe(jobs: Sequence[Job], store: Store, ledger: Ledger, how: Execution, progress: Progress) -> None:
    """Ask the queries that have no answer, judge by judge, and derive the numbers that metrics need."""
    for group in group_queries(jobs):
        left = _survey(list_keys(group, store, ledger), store, ledger)
        if left.to_ask:
            with (
                open_component(group.component, how) as judge,
                progress.task(f"{group.capability} by {group.component.spec}", left.to_ask, "queries") as task,
            ):
                _ask(group, judge, store, ledger, task, left.kept > 0)
        if any(served.need.derive for _, served in group.asking):
            # counted after asking, because several needs may derive from one answer
            to_derive = sum(1 for _ in _recall(group, store, ledger, _choose_underived))
            if to_derive:
                with progress.task(f"numbers from {group.capability}", to_derive, "images") as task:
                    _derive_missing(group, store, ledger, task)


@dataclass
class _Left:
    """Numbers of queries without and with an answer, each query counted once."""

    to_ask: int = 0
    kept: int = 0


def _survey(asked: Iterable[str], store: Store, ledger: Ledger) -> _Left:
    left, seen = _Left(), set[bytes]()
    for block in iterate_blocks(asked):
        for key, value in zip(block, store.get_many(block), strict=True):
            packed = bytes.fromhex(key)
            if packed in seen or key in ledger.observations:
                continue
            seen.add(packed)
            if value is None:
                left.to_ask += 1
            else:
                left.kept += 1
    return left


def _ask(group: QueryGroup, judge: Any, store: Store, ledger: Ledger, task: Task, has_worked: bool) -> None:
    in_flight: set[str] = set()
    labels = group.labels

    asked_for: dict[int, _ToAsk] = {}

    def readable() -> Iterator[Query]:
        """Open images here, so that a damaged one fails alone and is never blamed on the judge."""
        shown: tuple[Image, ...] = ()
        forgotten: set[str] = set()
        for item in _recall(group, store, ledger, _choose_unanswered, each_once=True):
            if item.key in in_flight:
                continue
            try:
                query = _load_images(item.query, group, store, shown)
            except DamagedImage as error:
                if forgotten.isdisjoint(image.digest for image in item.query.images):
                    forgotten |= _handle_damage(error, item, store, ledger)
                task.advance()
            else:
                shown = query.images
                in_flight.add(item.key)
                asked_for[id(query)] = item
                yield query

    def observe(queries: Iterable[Query]) -> Iterator[Any]:
        return iter(judge.observe(group.capability, queries))

    started, done = time.monotonic(), 0
    for query, answer in stream_answers(observe, readable(), describe_component(group.component), has_worked):
        item = asked_for.pop(id(query))
        try:
            value = b"" if isinstance(answer, Failure) else encode(answer, group.capability, labels, query)
        except (TypeError, ValueError) as error:
            answer = Failure(f"{describe_component(group.component)} {error}")
        except Exception as error:  # any fault of the answer is this query's failure
            who = describe_component(group.component)
            answer = Failure(f"{who} gave an answer that cannot be kept: {describe_error(error)}")
        if isinstance(answer, Failure):
            ledger.observations[item.key] = answer
        else:
            value = store.put(item.key, value)
            if item.served.need.derive:
                _derive(replace(item, query=query), decode(value, group.capability, labels), store)
        in_flight.discard(item.key)
        done += 1
        task.advance()
    keep_settings(store, group.component, judge, group.component.judge_fingerprint)
    if done:
        store.put_rate(group.component.judge_fingerprint, (time.monotonic() - started) / done)


def _load_images(query: Query, group: QueryGroup, store: Store, shown: Sequence[Image]) -> Query:
    """Return a query with its images read; those of the query before, `shown`, are the same objects."""
    truth = getattr(group.component.info, "reads_truth", False)
    before = {image.identity: image for image in shown}
    # copies, so that the pixels are released with the query
    images = tuple(
        before.get(i.identity) or replace(i, truth=store.truth(i.digest) if truth else None) for i in query.images
    )
    for image in images:
        _ = image.pixels
    return replace(query, images=images)


def _handle_damage(error: DamagedImage, item: _ToAsk, store: Store, ledger: Ledger) -> set[str]:
    """Have damaged images of the cache generated again, once; record a failure for others that cannot be read.

    Returns:
        The digests of the images to generate again.
    """
    damaged = {i.digest for i in item.query.images if store.holds(i)} - ledger.healed
    for digest in damaged:
        store.forget_image(digest)
    ledger.healed |= damaged
    if not damaged:
        ledger.observations[item.key] = Failure(str(error))
    return damaged


NOT_KEPT = Failure("its image does not exist yet")


def gather(
    items: Sequence[Item], need: Need | None, store: Store, ledger: Ledger
) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item, with images if the need uses them, or a failure."""
    if need is not None and need.images != "generated":
        return [tuple(Sample(p.model.label, p.prompt, p.seed) for p in item) for item in items]
    images = store.images([planned.key for item in items for planned in item], look=False)
    each = iter(images)
    return [_add_images(item, [next(each) for _ in item], ledger) for item in items]


def _add_images(item: Item, images: Sequence[Image | None], ledger: Ledger) -> tuple[Sample, ...] | Failure:
    for planned, image in zip(item, images, strict=True):
        if planned.key in ledger.images:
            return ledger.images[planned.key]
        if image is None:
            return NOT_KEPT
    return tuple(Sample(p.model.label, p.prompt, p.seed, i) for p, i in zip(item, images, strict=True))


Gather = Callable[[Sequence[Item], Need | None, Store, Ledger], list[tuple[Sample, ...] | Failure]]


def list_keys(group: QueryGroup, store: Store, ledger: Ledger, gathering: Gather = gather) -> Iterator[str]:
    """Yield the key of every query of a group and record it in the ledger; samples without an image have none."""
    for job, served in group.asking:
        if served.need.per == "run":
            yield from (query.key for query in asked_once(job, served))
            continue
        for grids in job.groups():
            into = ledger.queries[served.address(grids)] = QueryKeys()
            head = observation_key_head(served.judge_fingerprint(grids[0].model), served.asked)
            for block in iterate_blocks(zip(*grids, strict=True)):
                if served.asks_image_alone and gathering is gather:
                    found = _list_image_keys(head, block, store, ledger)
                else:
                    samples = gathering(block, served.need, store, ledger)
                    each = zip(block, samples, strict=True)
                    asked = (_make_queries(job, served, item, own) for item, own in each)
                    found = [[(observation_key(head, q), _hash_images(q.images)) for q in own] for own in asked]
                for pairs in found:
                    keys = [key for key, _ in pairs]
                    into.append(keys, [images for _, images in pairs])
                    yield from keys


def _list_image_keys(
    head: str, items: Sequence[Item], store: Store, ledger: Ledger
) -> list[list[tuple[str, int]]]:
    """Return for each item the keys of the queries about its images alone, each with the hash of its image."""
    samples = [sample for item in items for sample in item]
    identities = store.identities([sample.key for sample in samples])
    known = [None if s.key in ledger.images else i for s, i in zip(samples, identities, strict=True)]
    asked = [identity for identity in known if identity]
    found = zip(keys_of_images_alone(head, asked), (hash((identity,)) for identity in asked), strict=True)
    each = iter([next(found)] if identity else [] for identity in known)
    return [[pair for _ in item for pair in next(each)] for item in items]


def _hash_images(images: Sequence[Image]) -> int:
    """Return a number that tells images from others, in this process."""
    return hash(tuple(image.identity for image in images))


def _make_queries(job: Job, served: Served, item: Item, samples: tuple[Sample, ...] | Failure) -> list[Query]:
    """Return the queries about an item; none if it has no image, or an image of its prompt is damaged.

    Measuring counts such items as failed.
    """
    if isinstance(samples, Failure):
        return []
    try:
        with guard_plugin(
            job.metric, f"to say what to ask about prompt {item[0].prompt.id!r}", reraise_damage=True
        ):
            return served.queries(samples)
    except DamagedImage:
        return []


Chooser = Callable[[Job, Served, Sequence[str], Store, Ledger], set[str]]
"""Chooses the keys of a need to work on."""


def _choose_unanswered(job: Job, served: Served, keys: Sequence[str], store: Store, ledger: Ledger) -> set[str]:
    """Choose queries that have no answer in the cache and did not fail in this run."""
    values = store.get_many(keys)
    return {k for k, value in zip(keys, values, strict=True) if value is None and k not in ledger.observations}


def _choose_underived(job: Job, served: Served, keys: Sequence[str], store: Store, ledger: Ledger) -> set[str]:
    """Choose queries with an answer from which some numbers are not derived yet."""
    if served.need.derive is None:
        return set()
    derived = store.get_many([derived_key(key, served, job.metric) for key in keys])
    values = store.get_many(keys)
    each = zip(keys, values, derived, strict=True)
    return {key for key, value, done in each if value is not None and done is None}


def _recall(
    group: QueryGroup, store: Store, ledger: Ledger, choose: Chooser, each_once: bool = False
) -> Iterator[_ToAsk]:
    """Yield the chosen queries of a group, which were listed before. Only their images are looked up.

    Queries about one image follow each other, whichever needs and metrics ask them.

    Args:
        group: The group.
        store: The cache.
        ledger: The record of the run.
        choose: Chooses the keys of a need.
        each_once: True to yield a query that several needs ask only once.
    """
    together: dict[tuple[int, ...], list[tuple[Job, Served, tuple[SampleGrid, ...]]]] = {}
    for job, served in group.asking:
        if served.need.per == "run":
            for one in asked_once(job, served):
                if choose(job, served, [one.key], store, ledger):
                    yield one
            continue
        for grids in job.groups():
            together.setdefault(tuple(map(id, grids)), []).append((job, served, grids))
    for asking in together.values():
        for block in iterate_blocks(zip(*asking[0][2], strict=True)):
            parts = [
                _choose_part(job, served, grids, block, store, ledger, choose) for job, served, grids in asking
            ]
            if each_once:
                every = set().union(*(part.chosen for part in parts))
                parts = [replace(part, chosen=every) for part in parts]
            for number in range(len(block)):
                for part in parts:
                    yield from part.make_queries(number)


@dataclass
class _Part:
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
        queries = _make_queries(self.job, self.served, item, self.samples[number])
        keys, made_from = self.keys.of(item[0].index), self.keys.images_of(item[0].index)
        # an image that is gone by now leaves fewer queries: measuring finds that
        for key, images, query in zip(keys, made_from, queries, strict=False):
            # another process may have made a damaged image again: this answer has another key
            if key in self.chosen and images == _hash_images(query.images):
                self.chosen.discard(key)
                yield _ToAsk(key, query, self.job, self.served)


def _choose_part(
    job: Job,
    served: Served,
    grids: Sequence[SampleGrid],
    block: Sequence[Item],
    store: Store,
    ledger: Ledger,
    choose: Chooser,
) -> _Part:
    """Choose queries of one need about a block of items, and look up their images."""
    kept_keys = ledger.queries[served.address(grids)]
    own = [kept_keys.of(item[0].index) for item in block]
    chosen = choose(job, served, [key for keys in own for key in keys], store, ledger)
    wanted = [number for number, keys in enumerate(own) if chosen & set(keys)]
    found = gather([block[number] for number in wanted], served.need, store, ledger) if wanted else []
    return _Part(job, served, kept_keys, block, chosen, dict(zip(wanted, found, strict=True)))


def asked_once(job: Job, served: Served) -> Iterator[_ToAsk]:
    """Yield every query of a need that is asked once per run."""
    head = observation_key_head(served.judge_fingerprint(job.models[0]), served.asked)
    with guard_plugin(job.metric, "to say what it asks once"):
        queries = served.queries(shared_samples(job))
    for query in queries:
        yield _ToAsk(observation_key(head, query), query, job, served)


def shared_samples(job: Job) -> tuple[Sample, ...]:
    """Return the samples for a need that is asked once per run: one without an image for each prompt."""
    return tuple(Sample(job.models[0].label, prompt, job.seeds[0]) for prompt in job.prompts)


def gather_made(items: Sequence[Item], store: Store, ledger: Ledger) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item with their images.

    Raises:
        BadFolder: If an image has disappeared.
    """
    found = gather(items, None, store, ledger)
    gone = next((item for item, samples in zip(items, found, strict=True) if samples is NOT_KEPT), None)
    if gone is not None:
        raise make_gone_error(store, gone)
    return found


def make_gone_error(store: Store, item: Item) -> BadFolder:
    """Return the error for an image that has disappeared or changed during the run."""
    whose = " or ".join(planned.model.label for planned in item)
    return store.gone(f"an image (of {whose}, prompt {item[0].prompt.id!r}, seed {item[0].seed})")


def _derive_missing(group: QueryGroup, store: Store, ledger: Ledger, task: Task) -> None:
    """Derive numbers from images and observations where the cache lacks them."""
    for item in _recall(group, store, ledger, _choose_underived):
        value = store.get(item.key)
        if value is None:
            continue
        try:
            _derive(item, decode(value, group.capability, group.labels), store)
        except DamagedImage as error:
            _handle_damage(error, item, store, ledger)
        task.advance()


def _derive(item: _ToAsk, observation: Any, store: Store) -> None:
    derive = item.served.need.derive
    assert derive is not None
    chain = item.served.choice.chain if item.served.choice else ()
    image = item.query.images[0]
    with guard_plugin(item.job.metric, f"in {derive.name!r} on {image.path}", reraise_damage=True):
        arrays = derive.function(image.pixels, combine(chain, item.query, [observation]))
        value = encode_arrays(arrays)
    store.put(derived_key(item.key, item.served, item.job.metric), value)
