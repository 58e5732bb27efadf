"""Ordered parallel map over processes, with bounded memory and a clean exit on Ctrl-C."""

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

#: Seconds after which an idle process exits.
_IDLE = 120


def map_ordered(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int | None = None
) -> Iterator[tuple[Job, Result]]:
    """Apply a picklable ``function`` to each job in ``workers`` processes.

    The processes are spawned, not forked, so that threads of torch or Mitsuba in the caller are safe. They do not
    import the caller's main module, so a plain script needs no guard. They stay alive for the next call, because
    each needs a second to import the renderer. Exceptions of jobs are raised in the caller.

    Args:
        function: The function.
        jobs: The jobs. At most four per worker are in flight.
        workers: Number of processes. By default, one for each core that this process may use, according to its
            affinity, its container and LOKY_MAX_CPU_COUNT.

    Yields:
        Each job, the same object, with its result, in the order of the jobs.

    Raises:
        ValueError: If ``workers`` is less than 1.
    """
    count = workers if workers is not None else cpu_count()
    if count < 1:
        raise ValueError(f"workers must be at least 1 (got {count})")
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
        # no caller needs the jobs in flight, so do not wait for them
        pool.shutdown(kill_workers=True)
        raise
    finally:
        for _, future in waiting:
            future.cancel()


@contextmanager
def _sheltered() -> Iterator[None]:
    """Make processes that are started in the block ignore Ctrl-C from the beginning."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started together with the first process, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _first(waiting: deque[tuple[Job, Future[Result]]]) -> tuple[Job, Result]:
    job, future = waiting.popleft()
    return job, future.result()


def _settle(parent: int) -> None:
    """Prepare a worker: the parent handles Ctrl-C, and each process uses one core."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        # Mitsuba handles Ctrl-C while it renders, and would return an incomplete picture
        os.setsid()
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    import drjit

    drjit.set_thread_count(1)


def _leave_with(parent: int) -> None:
    """End this process when its parent has ended, even if that was killed."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
