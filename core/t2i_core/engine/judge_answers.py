"""Answers of a judge: every query of a group that has none in the cache is asked once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..api.budget import Budget
from ..api.executor import ComponentSettings, Workers, make_constant
from ..api.failure import Failure
from ..api.image import Image
from ..api.judge import Capability, Judge, Query
from ..api.observation import Labels
from ..api.observation_codec import decode, encode
from ..api.plugin_guard import describe_component
from ..api.progress import Progress, Task
from ..api.text import describe_error
from ..files.image_file import DamagedImage
from ..storage.store import Store
from .answer_stream import Patience
from .background import Background
from .component import Component
from .derived_numbers import derive_number
from .executors import open_workers
from .job import Job, Served
from .key_set import KeySet
from .lifecycle import Execution, add_note, keep_rate, keep_settings
from .query_faults import QueryFaults
from .query_index import QueryGroup
from .query_walk import PlannedQuery, QueryWalk
from .sample import iterate_blocks


def ask_judge(walk: QueryWalk, known: QueryFaults, how: Execution, progress: Progress) -> QueryFaults:
    """Ask the queries that have no answer in the cache, and store the answers with what is derived from them.

    Args:
        walk: The queries.
        known: What went wrong before. Queries that failed are not asked again.
        how: How components run.
        progress: Shows the progress to the user.

    Returns:
        What went wrong.

    Raises:
        CostLimitReached: If the budget is spent; the answers so far are stored.
    """
    unanswered, has_worked = _find_unanswered(walk, known)
    if not len(unanswered):
        return QueryFaults()
    group, store = walk.group, walk.store
    job = JudgingTask(group.component, how.settings, group.capability, group.labels)
    with (
        open_workers(job, how) as judge,
        progress.task(
            add_note(f"{group.capability} by {group.component.spec}", judge.note), len(unanswered), "queries"
        ) as task,
    ):
        started, done, answered, asked = time.monotonic(), 0, 0, len(unanswered)
        questions = _Questions(walk, unanswered, known, task)
        for planned, fault in _store_answers(questions, judge, has_worked, how.budget):
            questions.note(planned, fault)
            if isinstance(fault, Failure):
                how.journal.add_failure(fault)
            elif fault is None:
                how.journal.add_answer()
            done += 1
            answered += fault is None
            task.advance(failed=fault is not None)
        elapsed = time.monotonic() - started
        keep_settings(store, group.component, judge.settings, group.component.judge_fingerprint)
        how.budget.end_run(f"{answered} of {asked} queries are answered by {group.component.spec}")
        keep_rate(store, group.component.judge_fingerprint, judge, elapsed, done)
    return questions.faults


Fault = Failure | DamagedImage | None
"""Why a query has no answer, or that its image cannot be read; None if it has one."""


def _store_answers(
    questions: _Questions, judge: Workers, has_worked: bool, budget: Budget
) -> Iterator[tuple[PlannedQuery, Fault]]:
    """Ask the queries; yield each one that is done, with its fault.

    Answers are encoded and stored beside the judge, with the numbers that metrics derive from them. Nothing is
    asked once the budget is spent.
    """
    walk = questions.walk
    patience = Patience(describe_component(walk.group.component), has_worked)
    keep = _Keeper(walk.group, walk.store)
    with Background[tuple[PlannedQuery, Fault]]() as background:
        for query, encode, raised in judge.answer(takewhile(lambda _: not budget.is_spent, questions)):
            fault = encode()
            if not isinstance(fault, DamagedImage):  # the judge was not asked
                patience.count(fault if raised else None)
            yield from background.submit(partial(keep, questions.close(query), encode))
        yield from background.finish()


@dataclass(frozen=True)
class JudgingTask:
    """Answer queries.

    Attributes:
        component: The judge, or a generator that judges itself.
        settings: Settings of its setup.
        capability: What it is asked for.
        labels: The classes that it declares.
    """

    component: Component[Any]
    settings: ComponentSettings
    capability: Capability
    labels: Labels | None

    def with_component(self, component: Any) -> JudgingTask:
        """Return the same task for another component."""
        return replace(self, component=component)

    def work(self, instance: Judge, items: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        """Ask the judge."""
        return iter(instance.observe(self.capability, items))

    def list_images(self, item: Query) -> Sequence[Image]:
        """Return a query's images."""
        return item.images

    def take(self, item: Query, answer: Any) -> Callable[[], bytes | Failure]:
        """Encode an answer at once, because it takes little time."""
        return make_constant(self._encode(item, answer))

    def _encode(self, item: Query, answer: Any) -> bytes | Failure:
        """Return the stored form of an answer, or why it has none."""
        if isinstance(answer, Failure):
            return answer
        who = describe_component(self.component)
        try:
            return encode(answer, self.capability, self.labels, item)
        except (TypeError, ValueError) as error:
            return Failure(f"{who} {error}")
        except Exception as error:  # any fault of the answer is this query's failure
            return Failure(f"{who} gave an answer that cannot be kept: {describe_error(error)}")

    def write(self, encoded: Any, cache: Path) -> Any:
        """Return the answer: it has no files."""
        return encoded


def _find_unanswered(walk: QueryWalk, known: QueryFaults) -> tuple[KeySet, bool]:
    """Return the keys of the queries that have neither an answer nor failed, and whether any has an answer."""
    unanswered, has_answers = bytearray(), False
    for keys in walk.index.values():
        for block in iterate_blocks(keys):
            for key, value in zip(block, walk.store.get_many(block), strict=True):
                if key in known.failures:
                    continue
                if value is None:
                    unanswered += bytes.fromhex(key)
                else:
                    has_answers = True
    return KeySet(unanswered), has_answers


class _Questions:
    """The queries for the judge, each asked once.

    Args:
        walk: The queries.
        unanswered: The keys of those to ask; each is removed when it is its turn.
        known: What went wrong before.
        task: Shows the progress.

    Attributes:
        walk: The queries.
        faults: What went wrong with images and answers.
    """

    def __init__(self, walk: QueryWalk, unanswered: KeySet, known: QueryFaults, task: Task) -> None:
        self.walk, self._unanswered, self._task = walk, unanswered, task
        self._open: dict[int, PlannedQuery] = {}
        self._reads_truth = getattr(walk.group.component.info, "reads_truth", False)
        self.faults = QueryFaults(damaged=set(known.damaged), is_repaired=known.is_repaired)

    def __iter__(self) -> Iterator[Query]:
        shown: tuple[Image, ...] = ()
        for planned in self.walk.make_queries(self._choose):
            # another need or an equal image may share it, and its answer may have arrived since it was chosen
            if not self._unanswered.discard(planned.key):
                continue
            if self.faults.affects(planned.query):
                self._task.advance()
                continue
            try:
                query = self._add_truth(planned.query, shown)
            except DamagedImage as error:
                self.note(planned, error)
                self._task.advance()
            else:
                shown = query.images
                self._open[id(query)] = replace(planned, query=query)
                yield query

    def _add_truth(self, query: Query, shown: Sequence[Image]) -> Query:
        """Return a query with what its images really show, if the judge reads that.

        Args:
            query: The query.
            shown: The images of the query before, which are used again.

        Raises:
            DamagedImage: If the kept truth of an image is damaged.
        """
        if not self._reads_truth:
            return query
        before = {image.identity: image for image in shown}
        truth = self.walk.store.truth
        images = (
            before.get(i.identity) or replace(i, truth=None if i.region else truth(i.digest)) for i in query.images
        )
        return replace(query, images=tuple(images))

    def note(self, planned: PlannedQuery, fault: Fault) -> None:
        """Note what is wrong with a query, if anything."""
        if isinstance(fault, DamagedImage):
            self.faults.add_damage(fault, planned.key, planned.query, self.walk.store)
        elif fault is not None:
            self.faults.failures[planned.key] = fault

    def close(self, query: Query) -> PlannedQuery:
        """Return what an answered query is about."""
        return self._open.pop(id(query))

    def _choose(self, job: Job, served: Served, keys: Sequence[str]) -> set[str]:
        """Choose the queries that are still to ask; another process may have asked some in the meantime."""
        left = self._unanswered.select(keys)
        return {key for key, value in zip(left, self.walk.store.get_many(left), strict=True) if value is None}


class _Keeper:
    """Stores answers, in any thread. Only one thread at a time runs the functions of metrics.

    Args:
        group: The queries.
        store: The cache.
    """

    def __init__(self, group: QueryGroup, store: Store) -> None:
        self._group, self._store = group, store
        self._deriving = threading.Lock()

    def __call__(self, planned: PlannedQuery, encode: Callable[[], Any]) -> tuple[PlannedQuery, Fault]:
        """Store an answer and what is derived from it; return the query and its fault."""
        value = encode()
        if not isinstance(value, bytes):
            return planned, value
        value = self._store.put(planned.key, value)
        if planned.served.need.derive:
            try:
                _ = planned.query.images[0].pixels
                with self._deriving:
                    derive_number(planned, decode(value, self._group.capability, self._group.labels), self._store)
            except DamagedImage as error:
                return planned, error
        return planned, None
