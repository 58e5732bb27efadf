"""The second pass: judges answer every query whose answer is not in the cache.

Queries that depend on other answers (`Need.after`) are made when these are there, from what the cache keeps: a
resumed run makes the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..api.progress import Progress
from ..storage.store import Store
from .answer_reader import AnswerReader
from .derived_numbers import derive_numbers
from .generation import GeneratedImages
from .job import Job
from .judge_answers import ask_judge
from .lifecycle import Execution
from .query_faults import QueryFaults
from .query_index import Failures, QueryIndex, QueryKeys, group_queries, index_queries
from .query_walk import QueryWalk


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

    def __or__(self, more: Observations) -> Observations:
        """Return the observations of both."""
        return Observations(
            {**self.index, **more.index}, {**self.failures, **more.failures}, self.damaged | more.damaged
        )


def observe(
    jobs: Sequence[Job],
    images: GeneratedImages,
    store: Store,
    how: Execution,
    progress: Progress,
    before: Observations | None = None,
    failed: Failures = MappingProxyType({}),
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
        failed: Why other queries have no answer, which are not asked again either.
    """
    index: dict[tuple[int, tuple[str, ...]], QueryKeys] = {}
    known = {**(before.failures if before else {}), **failed}
    faults = QueryFaults(known, is_repaired=before is not None)
    for group in group_queries(jobs):
        earlier = AnswerReader(index, faults.failures, store, is_asking=True)
        of_group = index_queries(group, store, images.failures, earlier.add_earlier)
        walk = QueryWalk(group, of_group, images.failures, store, earlier.add_earlier)
        faults |= ask_judge(walk, faults, how, progress)
        faults |= derive_numbers(walk, faults, progress)
        index |= of_group
    return Observations(index, faults.failures, frozenset(faults.damaged))
