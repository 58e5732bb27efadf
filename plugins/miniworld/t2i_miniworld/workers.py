"""Work spread over processes: results in order, memory bounded, quiet on Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def map_ordered(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int | None = None
) -> Iterator[tuple[Job, Result]]:
    """Apply a picklable ``function`` to each job in ``workers`` processes (default: one per core).

    Yields each job, the same object, with its result, in the order of the jobs; at most four jobs per worker
    are in flight. Processes are spawned, not forked, so that threads of torch or Mitsuba in the caller do no
    harm. One worker is the caller itself. What a job raises is raised here. Raises ValueError where
    ``workers`` is below 1.
    """
    count = workers if workers is not None else available_cores()
    if count < 1:
        raise ValueError(f"workers must be at least 1, not {count}")
    if count == 1:
        yield from ((job, function(job)) for job in jobs)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_settle)
    waiting: deque[tuple[Job, Future[Result]]] = deque()
    try:
        for job in jobs:
            waiting.append((job, pool.submit(function, job)))
            if len(waiting) >= 4 * count:
                done, result = waiting.popleft()
                yield done, result.result()
        for done, result in waiting:
            yield done, result.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def available_cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


def _leave_with_parent() -> None:
    """End this process when its parent is gone, however that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _settle() -> None:
    """Prepare a worker: Ctrl-C is the parent's business, and one process uses one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    import drjit

    drjit.set_thread_count(1)
