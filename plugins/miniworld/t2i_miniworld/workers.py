"""Work spread over processes: results in order, memory bounded, quiet on Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from loky import cpu_count, get_reusable_executor

Job = TypeVar("Job")
Result = TypeVar("Result")

#: Seconds after which an idle process leaves.
_IDLE = 120


def map_ordered(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int | None = None
) -> Iterator[tuple[Job, Result]]:
    """Apply a picklable ``function`` to each job in ``workers`` processes.

    By default there is one for each core that this process may use: by its affinity, its container and
    LOKY_MAX_CPU_COUNT. Yields each job, the same object, with its result, in the order of the jobs; at most four
    jobs per worker are in flight. What a job raises is raised here. Raises ValueError for ``workers`` below 1.

    The processes are started afresh, not forked, so that threads of torch or Mitsuba in the caller do no harm;
    they do not import the caller's main module, so that a plain script needs no guard; and they stay for the
    next call, for each takes a second to import the renderer.
    """
    count = workers if workers is not None else cpu_count()
    if count < 1:
        raise ValueError(f"workers must be at least 1, not {count}")
    pool = get_reusable_executor(count, initializer=_settle, initargs=(os.getpid(),), timeout=_IDLE)
    waiting: deque[tuple[Job, Future[Result]]] = deque()
    try:
        for job in jobs:
            with _sheltered():
                waiting.append((job, pool.submit(function, job)))
            if len(waiting) >= 4 * count:
                yield _first(waiting)
        while waiting:
            yield _first(waiting)
    except (KeyboardInterrupt, GeneratorExit):
        # nobody waits for what is in flight, so nobody should have to wait until it is done
        pool.shutdown(kill_workers=True)
        raise
    finally:
        for _, future in waiting:
            future.cancel()


@contextmanager
def _sheltered() -> Iterator[None]:
    """Have the processes that are started inside deaf to Ctrl-C from their first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # where it starts with the first process, it lifts the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _first(waiting: deque[tuple[Job, Future[Result]]]) -> tuple[Job, Result]:
    job, future = waiting.popleft()
    return job, future.result()


def _settle(parent: int) -> None:
    """Prepare a worker: Ctrl-C is the parent's business, and one process uses one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        # Mitsuba listens for Ctrl-C while it draws, and would hand in half a picture.
        os.setsid()
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    import drjit

    drjit.set_thread_count(1)


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone, however that was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
