"""Work beside the model: a few threads with bounded queues, so that the device never waits for a file.

Encoding, hashing, decoding and writing release Python's lock, so threads are enough. The model stays in the thread
that called the engine, as libraries of models expect.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

ItemT = TypeVar("ItemT")
PartT = TypeVar("PartT")
ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)

THREADS = max(2, min(8, os.cpu_count() or 1))
"""Number of threads: with fewer than two, a slow write would hold up the encoding of the next image."""


LIMIT = 2 * THREADS
"""Number of results that may wait to be stored; a process that is killed loses at most these."""


class Call(Protocol[ResultT_co]):
    """A call that was submitted, as a future of Python's own."""

    def done(self) -> bool:
        """Return whether it has ended."""
        ...

    def result(self) -> ResultT_co:
        """Return its result once it has ended. Raises what it raised."""
        ...

    def cancel(self) -> bool:
        """Keep it from beginning; return whether it has not begun."""
        ...


_QUICK = 0.001
"""Seconds. Handing a shorter call to a thread takes longer than the call itself."""

_LOST = 0.02
"""Seconds beyond `_QUICK` for each call that calls may lose in all, before they go to threads."""

_MOST = 0.01
"""Seconds that count of one call: the first one may import a library."""


@dataclass(frozen=True)
class _Done(Generic[ResultT]):
    """A call that has ended, in place of a future, which has a lock.

    Attributes:
        value: Its result.
        error: What it raised, if anything.
    """

    value: ResultT
    error: Exception | None = None

    def done(self) -> bool:
        return True

    def result(self) -> ResultT:
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self) -> bool:
        return False


class _Threads:
    """A pool of threads for calls that are worth one: quick calls run in the thread that submits them."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="t2i")
        self._lost = 0.0

    def submit(self, call: Callable[[], ResultT]) -> Call[ResultT]:
        if self._lost > _LOST:
            return self._pool.submit(call)
        started = time.perf_counter()
        done: _Done[Any]
        try:
            done = _Done(call())
        except Exception as error:  # raised where the result is taken, as in a thread
            done = _Done(None, error)
        self._lost = max(self._lost + min(time.perf_counter() - started, _MOST) - _QUICK, 0.0)
        return done

    def close(self) -> None:
        """Wait for the calls to end."""
        self._pool.shutdown(wait=True)


class Background(Generic[ResultT]):
    """Calls that run in threads, unless they are quick. At most `limit` wait or run at a time: memory stays flat.

    Leaving the block waits for the calls that were submitted, whatever ended it: what a model has drawn is kept
    even if the user interrupts the run. An error of such a call is raised only if no other error ended the block.

    Args:
        threads: Number of threads.
        limit: Number of calls that may be open. `submit` waits for the oldest one if there are more.
    """

    def __init__(self, threads: int = THREADS, limit: int = LIMIT) -> None:
        self._threads = _Threads(threads)
        self._limit = limit
        self._open: deque[Call[ResultT]] = deque()

    def submit(self, call: Callable[[], ResultT]) -> list[ResultT]:
        """Start a call, and return the results of calls that have ended meanwhile, in the order of submission.

        Raises:
            Exception: The error of a call that failed.
        """
        self._open.append(self._threads.submit(call))
        return list(self._collect(self._limit))

    def finish(self) -> Iterator[ResultT]:
        """Yield the results of the remaining calls as they end, in the order of submission.

        Raises:
            Exception: The error of a call that failed.
        """
        while self._open:
            yield self._open.popleft().result()

    def _collect(self, limit: int) -> Iterator[ResultT]:
        while self._open and (len(self._open) > limit or self._open[0].done()):
            yield self._open.popleft().result()

    def __enter__(self) -> Background[ResultT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.close()
        if error is None:
            for each in self._open:
                each.result()


def read_ahead(
    items: Iterable[ItemT],
    parts_of: Callable[[ItemT], Sequence[PartT]],
    read: Callable[[PartT], object],
    ahead: int = 2 * THREADS + 16,
) -> Iterator[tuple[ItemT, Sequence[Call[object]]]]:
    """Yield items in order, each with the calls of `read` for its parts, which begin in threads before.

    Items are taken in the caller's thread. An error in taking one is raised after the items before it.

    Args:
        items: The items.
        parts_of: Returns what must be read for an item. A part that two neighbours share is read once.
        read: Reads a part.
        ahead: Number of items whose parts are read before it is their turn.
    """
    coming: deque[tuple[ItemT, Sequence[Call[object]]]] = deque()
    before: dict[int, tuple[PartT, Call[object]]] = {}
    failed: Exception | None = None
    source = iter(items)
    with closing(_Threads(THREADS)) as threads:
        try:
            while failed is None:
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception as error:  # raised below
                    failed = error
                    break
                before = {
                    id(part): before.get(id(part)) or (part, threads.submit(partial(read, part)))
                    for part in parts_of(item)
                }
                coming.append((item, [future for _, future in before.values()]))
                if len(coming) > ahead:
                    yield coming.popleft()
            while coming:
                yield coming.popleft()
        finally:
            for _, futures in coming:
                for future in futures:
                    future.cancel()
    if failed is not None:
        raise failed
