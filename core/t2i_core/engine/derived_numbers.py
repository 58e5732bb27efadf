"""Numbers that metrics derive from images and observations: each is stored once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.adapter import combine
from ..api.array_codec import encode_arrays
from ..api.observation_codec import decode
from ..api.plugin_guard import guard_plugin
from ..api.progress import Progress
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .job import Job, Served, derived_key
from .query_faults import QueryFaults
from .query_walk import PlannedQuery, QueryWalk
from .sample import iterate_blocks


def derive_numbers(walk: QueryWalk, known: QueryFaults, progress: Progress) -> QueryFaults:
    """Derive numbers from images and observations where the cache lacks them.

    A judge's answer brings them with it for the first need that asks for it. Here they are derived for other needs
    and metrics, and from answers of earlier runs.

    Args:
        walk: The queries.
        known: What went wrong before.
        progress: Shows the progress to the user.

    Returns:
        What went wrong.
    """
    group, store = walk.group, walk.store
    found = QueryFaults(damaged=set(known.damaged), is_repaired=known.is_repaired)
    underived = _find_underived(walk)
    if not underived:
        return found

    def choose(job: Job, served: Served, keys: Sequence[str]) -> set[str]:
        if served.need.derive is None:
            return set()
        return {key for key in keys if _pack_key(key, served, job) in underived}

    with progress.task(f"numbers from {group.capability}", len(underived), "images") as task:
        for planned in walk.make_queries(choose):
            packed = _pack_key(planned.key, planned.served, planned.job)
            value = store.get(planned.key)
            if packed not in underived or value is None:  # an equal image had its turn, or the answer has gone
                continue
            underived.remove(packed)
            try:
                if not found.affects(planned.query):
                    derive_number(planned, decode(value, group.capability, group.labels), store)
            except DamagedImage as error:
                found.add_damage(error, planned.key, planned.query, store)
            task.advance()
    return found


def derive_number(planned: PlannedQuery, observation: Any, store: Store) -> None:
    """Derive a need's numbers from an image and its observation, and store them.

    Raises:
        DamagedImage: If the image cannot be read.
        BrokenPlugin: If the metric's function fails.
    """
    derive = planned.served.need.derive
    assert derive is not None
    image = planned.query.images[0]
    with guard_plugin(planned.job.metric, f"in {derive.name!r} on {image.path}", reraise_damage=True):
        arrays = derive.function(image.pixels, combine(planned.served.chain, planned.query, [observation]))
        value = encode_arrays(arrays)
    store.put(derived_key(planned.key, planned.served, planned.job.metric), value)


def _find_underived(walk: QueryWalk) -> set[bytes]:
    """Return the packed keys of the numbers that the cache lacks, though it has the observations."""
    underived = set[bytes]()
    for job, served in walk.group.asking:
        if served.need.derive is None:
            continue
        for keys in iterate_blocks(walk.list_keys(job, served)):
            names = [derived_key(key, served, job.metric) for key in keys]
            lacking = [n for n, value in enumerate(walk.store.get_many(names)) if value is None]
            answers = walk.store.get_many([keys[n] for n in lacking])
            underived |= {
                bytes.fromhex(names[n]) for n, value in zip(lacking, answers, strict=True) if value is not None
            }
    return underived


def _pack_key(key: str, served: Served, job: Job) -> bytes:
    return bytes.fromhex(derived_key(key, served, job.metric))
