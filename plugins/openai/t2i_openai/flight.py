"""Several requests in flight at a time, taken lazily and answered in any order."""

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
"""Seconds that are waited for connections to close; the thread ends with the process in any case."""


def in_flight(
    items: Iterable[ItemT],
    work: Callable[[ItemT], Coroutine[Any, Any, AnswerT]],
    at_once: int,
    at_end: Callable[[], Awaitable[None]],
) -> Iterator[tuple[ItemT, AnswerT]]:
    """Yield each item with its answer as soon as it is there; no more than `at_once` are taken and not answered.

    Items are taken, and answers yielded, in the caller's thread; the work is done by an event loop in another, so
    that it goes on whatever the caller does meanwhile. What work raises is raised. When the iteration ends, by
    whatever cause (Ctrl-C), what is under way is cancelled, and `at_end` is awaited.
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
    """An event loop in a thread of its own, and what came out of it."""

    def __init__(self, at_end: Callable[[], Awaitable[None]]) -> None:
        self.done: SimpleQueue[tuple[Any, Future[Any]]] = SimpleQueue()
        self._at_end = at_end
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = Thread(target=self._run, name="t2i-openai", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # cancels what is under way when it ends
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
        """Begin a piece of work."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(lambda done: self.done.put((item, done)))

    def end(self) -> None:
        """Cancel what is under way and let go of the thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(_LONGEST_END)
