"""The queries of a run: which judge is asked what, and the key of every query."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..api.errors import BadFolder
from ..api.failure import Failure
from ..api.image import Image
from ..api.judge import Capability, Query
from ..api.metric_input import Need, Sample
from ..api.observation import Labels
from ..api.plugin_guard import guard_plugin
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .component import Component
from .job import Job, Served, keys_of_images_alone, observation_key, observation_key_head
from .sample import PlannedSample, SampleGrid, iterate_blocks

_KEY_BYTES = 32

Item = tuple[PlannedSample, ...]
"""The samples of one observation: a sample, or two models' samples of one prompt and seed."""

Failures = Mapping[str, Failure]
"""Failures by the key of the sample or query. They are not stored: the next run tries again."""

NOT_KEPT = Failure("its image does not exist yet")


class QueryKeys:
    """The keys of the queries of one need, item after item, packed; each is computed once."""

    def __init__(self) -> None:
        self._keys = bytearray()
        self._images = array("q")
        self._ends = array("Q")

    def append(self, keys: Sequence[str], images: Sequence[int]) -> None:
        """Add the keys of the next item's queries; none where the item cannot be asked about.

        Args:
            keys: The keys.
            images: For each key a hash of the images that it was made from.
        """
        self._keys += bytes.fromhex("".join(keys))
        self._images.extend(images)
        self._ends.append(len(self._images))

    def __iter__(self) -> Iterator[str]:
        return (self._keys[at : at + _KEY_BYTES].hex() for at in range(0, len(self._keys), _KEY_BYTES))

    def of(self, index: int) -> list[str]:
        """Return the keys of an item's queries."""
        start, end = self._span(index)
        return [self._keys[at * _KEY_BYTES : (at + 1) * _KEY_BYTES].hex() for at in range(start, end)]

    def images_of(self, index: int) -> Sequence[int]:
        """Return for each of an item's keys the hash of the images that it was made from."""
        start, end = self._span(index)
        return self._images[start:end]

    def _span(self, index: int) -> tuple[int, int]:
        return (self._ends[index - 1] if index else 0), self._ends[index]


QueryIndex = Mapping[tuple[int, tuple[str, ...]], QueryKeys]
"""The keys of queries, by the need and the models (`Served.address`)."""


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

    def per_run(self) -> list[tuple[Job, Served]]:
        """Return the needs that are asked once per run."""
        return [(job, served) for job, served in self.asking if served.need.per == "run"]

    def per_item(self) -> list[tuple[tuple[SampleGrid, ...], list[tuple[Job, Served]]]]:
        """Return the grids whose samples are observed together, with the needs that ask about them."""
        found: dict[tuple[int, ...], tuple[tuple[SampleGrid, ...], list[tuple[Job, Served]]]] = {}
        for job, served in self.asking:
            if served.need.per != "run":
                for grids in job.groups():
                    found.setdefault(tuple(map(id, grids)), (grids, []))[1].append((job, served))
        return list(found.values())


def group_queries(jobs: Iterable[Job]) -> list[QueryGroup]:
    """Gather needs by judge and capability, so that each judge is created once, in the order to ask them.

    A judge is asked again, in a later group, if its answers to one need decide its queries for another.
    """
    gathered: dict[tuple[str, Capability], list[tuple[int, bool, Component[Any], Job, Served]]] = {}
    for job in jobs:
        waited_for = {served.need.after for served in job.needs}
        for served in job.needs:
            if served.choice:
                askers: list[tuple[Component[Any], Job]] = [(served.choice.judge, job)]
            else:
                askers = [(grid.model.component, replace(job, grids=(grid,))) for grid in job.grids]
            stage, is_waited_for = len(job.list_earlier(served)), served.need.name in waited_for
            for component, own in askers:
                key = (component.judge_fingerprint, served.asked)
                gathered.setdefault(key, []).append((stage, is_waited_for, component, own, served))
    groups: dict[tuple[int, str, Capability], QueryGroup] = {}
    for (fingerprint, asked), asking in gathered.items():
        last = max(stage for stage, *_ in asking)
        for stage, is_waited_for, component, job, served in asking:
            number = stage if is_waited_for else last
            group = groups.get((number, fingerprint, asked)) or QueryGroup(component, asked, ())
            groups[number, fingerprint, asked] = replace(group, asking=(*group.asking, (job, served)))
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def gather(
    items: Sequence[Item], need: Need | None, store: Store, failed: Failures
) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item, with images if the need uses them, or a failure.

    Args:
        items: The items.
        need: The need; None if images are used.
        store: The cache.
        failed: Why samples have no image.
    """
    if need is not None and need.images != "generated":
        return [tuple(Sample(p.model.label, p.prompt, p.seed) for p in item) for item in items]
    each = iter(store.images([planned.key for item in items for planned in item], look=False))
    return [_add_images(item, [next(each) for _ in item], failed) for item in items]


def _add_images(item: Item, images: Sequence[Image | None], failed: Failures) -> tuple[Sample, ...] | Failure:
    for planned, image in zip(item, images, strict=True):
        if planned.key in failed:
            return failed[planned.key]
        if image is None:
            return NOT_KEPT
    return tuple(Sample(p.model.label, p.prompt, p.seed, i) for p, i in zip(item, images, strict=True))


def gather_made(items: Sequence[Item], store: Store, failed: Failures) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item with their images.

    Raises:
        BadFolder: If an image has disappeared.
    """
    found = gather(items, None, store, failed)
    gone = next((item for item, samples in zip(items, found, strict=True) if samples is NOT_KEPT), None)
    if gone is not None:
        raise make_gone_error(store, gone)
    return found


def make_gone_error(store: Store, item: Item) -> BadFolder:
    """Return the error for an image that has disappeared or changed during the run."""
    whose = " or ".join(planned.model.label for planned in item)
    return store.gone(f"an image (of {whose}, prompt {item[0].prompt.id!r}, seed {item[0].seed})")


Complete = Callable[
    [Job, Served, Sequence[Item], Sequence[tuple[Sample, ...] | Failure]], Sequence[tuple[Sample, ...] | Failure]
]
"""Adds the answers to samples that a need's queries depend on (`AnswerReader.add_earlier`)."""

Gather = Callable[[Sequence[Item], Need | None, Store, Failures], list[tuple[Sample, ...] | Failure]]


def index_queries(
    group: QueryGroup,
    store: Store,
    failed: Failures,
    complete: Complete,
    gathering: Gather = gather,
    look: Callable[[str, Query], None] = lambda key, query: None,
) -> QueryIndex:
    """Compute the key of every query of a group.

    Args:
        group: The group.
        store: The cache.
        failed: Why samples have no image; nothing is asked about them.
        complete: Adds earlier answers to samples; nothing is asked about those without.
        gathering: Gathers the samples.
        look: Called with each key and its query, unless the samples are gathered by `gather`.
    """
    index: dict[tuple[int, tuple[str, ...]], QueryKeys] = {}
    for job, served in group.per_run():
        keys = index[served.address(job.grids)] = QueryKeys()
        shared = list_shared_queries(job, served)
        keys.append([key for key, _ in shared], [hash_images(query.images) for _, query in shared])
        for key, query in shared:
            look(key, query)
    for grids, asking in group.per_item():
        of_needs = [(job, served, _start_key(job, served), QueryKeys()) for job, served in asking]
        index |= {served.address(grids): keys for _, served, _, keys in of_needs}
        for block in iterate_blocks(zip(*grids, strict=True)):
            samples: dict[str, list[tuple[Sample, ...] | Failure]] = {}
            for job, served, head, keys in of_needs:
                if served.asks_image_alone and gathering is gather:
                    _index_images_alone(head, block, store, failed, keys)
                    continue
                images = served.need.images
                if images not in samples:
                    samples[images] = gathering(block, served.need, store, failed)
                for item, own in zip(block, complete(job, served, block, samples[images]), strict=True):
                    queries = make_queries(job, served, item, own)
                    its_keys = [observation_key(head, query) for query in queries]
                    keys.append(its_keys, [hash_images(query.images) for query in queries])
                    for key, query in zip(its_keys, queries, strict=True):
                        look(key, query)
    return index


def _start_key(job: Job, served: Served) -> str:
    """Return the common beginning of the keys of a need's queries."""
    return observation_key_head(served.judge_fingerprint(job.models[0]), served.asked)


def _index_images_alone(head: str, items: Sequence[Item], store: Store, failed: Failures, into: QueryKeys) -> None:
    """Add the keys of the queries about each item's images alone."""
    samples = [sample for item in items for sample in item]
    identities = store.identities([sample.key for sample in samples])
    known = [None if s.key in failed else i for s, i in zip(samples, identities, strict=True)]
    keys = iter(keys_of_images_alone(head, [identity for identity in known if identity]))
    each = iter(known)
    for item in items:
        own = [identity for _ in item if (identity := next(each))]
        into.append([next(keys) for _ in own], [hash((identity,)) for identity in own])


def hash_images(images: Sequence[Image]) -> int:
    """Return a number that tells images from others, in this process."""
    return hash(tuple(image.identity for image in images))


def make_queries(job: Job, served: Served, item: Item, samples: tuple[Sample, ...] | Failure) -> list[Query]:
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


def list_shared_queries(job: Job, served: Served) -> list[tuple[str, Query]]:
    """Return the queries of a need that is asked once per run, each with its key."""
    head = _start_key(job, served)
    with guard_plugin(job.metric, "to say what it asks once"):
        queries = served.queries(shared_samples(job))
    return [(observation_key(head, query), query) for query in queries]


def shared_samples(job: Job) -> tuple[Sample, ...]:
    """Return the samples for a need that is asked once per run: one without an image for each prompt."""
    return tuple(Sample(job.models[0].label, prompt, job.seeds[0]) for prompt in job.prompts)
