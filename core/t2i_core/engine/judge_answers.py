"""Answers of a judge: every query of a group that has none in the cache is asked once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..api.failure import Failure
from ..api.image import Image
from ..api.judge import Query
from ..api.observation_codec import decode, encode
from ..api.plugin_guard import describe_component
from ..api.progress import Progress, Task
from ..api.text import describe_error
from ..files.image_file import DamagedImage
from .answer_stream import stream_answers
from .derived_numbers import derive_number
from .job import Job, Served
from .lifecycle import Execution, keep_settings, open_component
from .query_faults import QueryFaults
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
    """
    unanswered, kept = _find_unanswered(walk, known)
    if not unanswered:
        return QueryFaults()
    group, store = walk.group, walk.store
    who = describe_component(group.component)
    with (
        open_component(group.component, how) as judge,
        progress.task(f"{group.capability} by {group.component.spec}", len(unanswered), "queries") as task,
    ):

        def observe(queries: Iterable[Query]) -> Iterator[Any]:
            return iter(judge.observe(group.capability, queries))

        started, done = time.monotonic(), 0
        questions = _Questions(walk, unanswered, known, task)
        for query, answer in stream_answers(observe, questions, who, kept > 0):
            _keep(questions.close(query), answer, walk, questions.faults, who)
            done += 1
            task.advance()
        keep_settings(store, group.component, judge, group.component.judge_fingerprint)
        if done:
            store.put_rate(group.component.judge_fingerprint, (time.monotonic() - started) / done)
    return questions.faults


def _find_unanswered(walk: QueryWalk, known: QueryFaults) -> tuple[set[bytes], int]:
    """Return the packed keys of the queries that have neither an answer nor failed, and the number of answers."""
    unanswered, answered = set[bytes](), set[bytes]()
    for keys in walk.index.values():
        for block in iterate_blocks(keys):
            for key, value in zip(block, walk.store.get_many(block), strict=True):
                if key not in known.failures:
                    (unanswered if value is None else answered).add(bytes.fromhex(key))
    return unanswered, len(answered)


class _Questions:
    """The queries for the judge, each asked once, with their images read as the judge takes them.

    Images are read here, so that a damaged one fails alone and is never blamed on the judge.

    Args:
        walk: The queries.
        unanswered: The packed keys of those to ask; each is removed when it is its turn.
        known: What went wrong before.
        task: Shows the progress.

    Attributes:
        faults: What went wrong with images, and later with answers.
    """

    def __init__(self, walk: QueryWalk, unanswered: set[bytes], known: QueryFaults, task: Task) -> None:
        self._walk, self._unanswered, self._task = walk, unanswered, task
        self._open: dict[int, PlannedQuery] = {}
        self._reads_truth = getattr(walk.group.component.info, "reads_truth", False)
        self.faults = QueryFaults(damaged=set(known.damaged), is_repaired=known.is_repaired)

    def __iter__(self) -> Iterator[Query]:
        shown: tuple[Image, ...] = ()
        for planned in self._walk.make_queries(self._choose):
            # another need or an equal image may share it, and its answer may have arrived since it was chosen
            if (packed := bytes.fromhex(planned.key)) not in self._unanswered:
                continue
            self._unanswered.remove(packed)
            if self.faults.affects(planned.query):
                self._task.advance()
                continue
            try:
                query = self._read_images(planned.query, shown)
            except DamagedImage as error:
                self.faults.add_damage(error, planned.key, planned.query, self._walk.store)
                self._task.advance()
            else:
                shown = query.images
                self._open[id(query)] = replace(planned, query=query)
                yield query

    def _read_images(self, query: Query, shown: Sequence[Image]) -> Query:
        """Read the images of a query; return it with what they really show, if the judge reads that.

        Args:
            query: The query.
            shown: The images of the query before, which are used again.
        """
        if self._reads_truth:
            before = {image.identity: image for image in shown}
            truth = self._walk.store.truth
            images = (before.get(i.identity) or replace(i, truth=truth(i.digest)) for i in query.images)
            query = replace(query, images=tuple(images))
        for image in query.images:
            _ = image.pixels
        return query

    def close(self, query: Query) -> PlannedQuery:
        """Return what an answered query is about."""
        return self._open.pop(id(query))

    def _choose(self, job: Job, served: Served, keys: Sequence[str]) -> set[str]:
        """Choose the queries that are still to ask; another process may have asked some in the meantime."""
        left = [key for key in keys if bytes.fromhex(key) in self._unanswered]
        return {key for key, value in zip(left, self._walk.store.get_many(left), strict=True) if value is None}


def _keep(planned: PlannedQuery, answer: Any, walk: QueryWalk, faults: QueryFaults, who: str) -> None:
    """Store an answer and what is derived from it, or note why that fails."""
    group, store = walk.group, walk.store
    try:
        value = (
            b"" if isinstance(answer, Failure) else encode(answer, group.capability, group.labels, planned.query)
        )
    except (TypeError, ValueError) as error:
        answer = Failure(f"{who} {error}")
    except Exception as error:  # any fault of the answer is this query's failure
        answer = Failure(f"{who} gave an answer that cannot be kept: {describe_error(error)}")
    if isinstance(answer, Failure):
        faults.failures[planned.key] = answer
        return
    value = store.put(planned.key, value)
    if planned.served.need.derive:
        derive_number(planned, decode(value, group.capability, group.labels), store)
