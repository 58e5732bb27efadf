"""Concurrent requests: taken lazily, answered in any order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")

_LONGEST_END = 5.0
"""Seconds to wait for connections to close; the thread ends with the process in any case."""


def run_concurrently(
    items: Iterable[ItemT],
    work: Callable[[ItemT], Coroutine[Any, Any, AnswerT]],
    at_once: int,
    at_end: Callable[[], Awaitable[None]],
) -> Iterator[tuple[ItemT, AnswerT]]:
    """Yield each item with its answer as soon as it arrives; at most `at_once` items are unanswered at a time.

    Items are taken, and answers yielded, in the caller's thread. An event loop in another thread does the work, so
    that it continues while the caller is busy. Exceptions of the work are raised. When the iteration ends for any
    reason (also Ctrl-C), running work is cancelled and `at_end` is awaited.
    """
    line = _Line(at_end)
    source = iter(items)
    waiting = 0
    try:
        while True:
            for item in islice(source, at_once - waiting):
                line.submit(item, work(item))
                waiting += 1
            if not waiting:
                return
            item, answer = line.done.get()
            waiting -= 1
            yield item, answer.result()
    finally:
        line.end()


class _Line:
    """An event loop in its own thread, with a queue of its results."""

    def __init__(self, at_end: Callable[[], Awaitable[None]]) -> None:
        self.done: SimpleQueue[tuple[Any, Future[Any]]] = SimpleQueue()
        self._at_end = at_end
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = Thread(target=self._run, name="t2i-openai", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # cancels running work when it ends
            runner.run(self._serve())

    async def _serve(self) -> None:
        try:
            await self._stopped.wait()
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._at_end()

    def submit(self, item: Any, work: Coroutine[Any, Any, Any]) -> None:
        """Start a piece of work."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(lambda done: self.done.put((item, done)))

    def end(self) -> None:
        """Cancel running work and end the thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(_LONGEST_END)
