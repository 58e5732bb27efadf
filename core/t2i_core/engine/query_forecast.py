"""The observations that a run would make: its queries are counted before images or weights are here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ..api.failure import Failure
from ..api.image import Image, load_image
from ..api.judge import Query
from ..api.metric_input import Need, Sample
from ..storage.store import Store
from .answer_reader import AnswerReader
from .forecast_work import ComponentLoad, ObservationWork, PaidWork, find_paid_work, make_price_reader
from .job import Job, Served
from .plan import Plan
from .query_index import (
    NOT_KEPT,
    Failures,
    Item,
    QueryGroup,
    QueryIndex,
    QueryKeys,
    gather,
    group_queries,
    index_queries,
)
from .sample import iterate_blocks


def forecast_judges(
    plan: Plan, store: Store, failures: Failures, costs: dict[str, PaidWork], loads: list[ComponentLoad]
) -> ObservationWork:
    """Return the observations of all judges together.

    Those of paid judges are added to the costs, and those to make to the loads.
    """
    every = ObservationWork()
    index: dict[tuple[int, tuple[str, ...]], QueryKeys] = {}
    for group in group_queries(plan.jobs):
        paid = find_paid_work(group.component, costs)
        index |= _count_queries(every, group, store, failures, index, paid, loads)
    return every


def _count_queries(
    work: ObservationWork,
    group: QueryGroup,
    store: Store,
    failures: Failures,
    index: QueryIndex,
    paid: PaidWork | None,
    loads: list[ComponentLoad],
) -> QueryIndex:
    """Count the queries of a group, each once even if several needs and samples share it; return their keys.

    Images that do not exist yet are all taken to be different. Queries that depend on answers that do not exist
    yet are not counted.

    Args:
        index: The keys of the queries of earlier groups.
    """
    earlier = AnswerReader(index, {}, store, is_asking=True)
    ask = make_price_reader(group.component, group.capability)
    costs: dict[str, float | None] = {}

    def look(key: str, query: Query) -> None:
        if paid is not None:
            costs[key] = ask(query)

    parts = [
        index_queries(part, store, failures, earlier.add_earlier, _gather_planned, look)
        for part in _split_by_absence(group)
    ]
    known, unknown = (set(chain.from_iterable(part.values())) for part in parts)
    keys = list(known)
    kept = 0
    for block in iterate_blocks(keys):
        for key, value in zip(block, store.get_many(block), strict=True):
            if value is not None:
                kept += 1
                costs.pop(key, None)
    work.unknown += len(unknown - known)
    work.waiting += earlier.waiting
    work.kept += kept
    if len(keys) > kept or unknown - known:
        rate = store.rate(group.component.judge_fingerprint) if len(keys) > kept else None
        loads.append(ComponentLoad(group.component, work, len(keys) - kept, rate))
    if paid is not None:
        paid.unknown += len(unknown - known)
        paid.to_make += len(keys) - kept
        paid.kept += kept
        paid.is_bound = paid.is_bound and not earlier.waiting
        paid.add(costs.values())
    return {**parts[0], **parts[1]}


def _split_by_absence(group: QueryGroup) -> tuple[QueryGroup, QueryGroup]:
    """Return the queries whose keys are known, and those whose keys depend on weights that are not here."""
    known: list[tuple[Job, Served]] = []
    unknown: list[tuple[Job, Served]] = []
    for job, served in group.asking:
        drawn = served.need.images == "generated" and any(model.component.absent for model in job.models)
        (unknown if group.component.absent or drawn else known).append((job, served))
    return replace(group, asking=tuple(known)), replace(group, asking=tuple(unknown))


def _gather_planned(
    items: Sequence[Item], need: Need | None, store: Store, failures: Failures
) -> list[tuple[Sample, ...] | Failure]:
    """Return the samples of each item; an image that does not exist yet has its key as digest, and no pixels."""
    each = zip(items, gather(items, need, store, failures), strict=True)
    return [_assume_made(item, found, store, failures) for item, found in each]


def _assume_made(
    item: Item, found: tuple[Sample, ...] | Failure, store: Store, failures: Failures
) -> tuple[Sample, ...] | Failure:
    if isinstance(found, tuple):
        return tuple(_Planned(s.model, s.prompt, s.seed, s.image) for s in found)
    if found is not NOT_KEPT:
        return found
    for planned in item:
        if planned.key in failures:
            return failures[planned.key]
    return tuple(
        _Planned(p.model.label, p.prompt, p.seed, store.image(p.key) or Image(p.key, Path(p.key))) for p in item
    )


class _Planned(Sample):
    """A sample whose prompt may bring images that do not exist yet; their digest is their path."""

    @property
    def own_images(self) -> tuple[Image, ...]:
        paths = map(Path, self.prompt.images)
        return tuple(load_image(path) if path.is_file() else Image(str(path), path) for path in paths)
