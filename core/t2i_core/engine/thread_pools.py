"""Settings of the thread pools that torch and numpy start, so that t2i shares a machine with other work.

The libraries read these environment variables once, when they are loaded, so this module imports neither of them.
A variable that the user has set is never changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path

WAITING = {
    "OMP_WAIT_POLICY": "passive",  # GNU and LLVM OpenMP: torch on Linux and macOS
    "GOMP_SPINCOUNT": "5000",  # GNU: spin for some microseconds first, as an operation's parts end almost together
    "KMP_BLOCKTIME": "0",  # Intel's and LLVM's OpenMP
    "OPENBLAS_THREAD_TIMEOUT": "4",  # numpy's BLAS: the least that it accepts, as a power of two of clock cycles
}
"""Make threads that wait for each other sleep.

By default they spin. As soon as another process needs a core, they keep it from the thread that they wait for.
"""

THREADS = "OMP_NUM_THREADS"
"""Number of threads of OpenMP; OpenBLAS and MKL read it too."""

_SAMPLES, _SAMPLE_SECONDS = 4, 0.003


def sleep_while_waiting(environ: MutableMapping[str, str] = os.environ) -> None:
    """Set the waiting policy of thread pools, unless the user has set one.

    Args:
        environ: Environment to change.
    """
    for name, value in WAITING.items():
        environ.setdefault(name, value)


def limit_threads(environ: MutableMapping[str, str] = os.environ, root: Path = Path("/")) -> None:
    """Set the number of threads to the cores that this process may use and that are idle now.

    Does nothing if the user has set the number. On systems other than Linux the libraries' own choice stays.

    Args:
        environ: Environment to change.
        root: Folder that holds `proc` and `sys`.
    """
    if hasattr(os, "sched_getaffinity"):
        idle = (os.cpu_count() or 1) - _count_running(root)
        environ.setdefault(THREADS, str(max(1, min(count_cores(root), idle))))


def count_cores(root: Path = Path("/")) -> int:
    """Return the number of cores that this process may use, at least 1, by its affinity and control groups' quota.

    Hardware threads of one core count once, as torch counts them.

    Args:
        root: Folder that holds `proc` and `sys`.
    """
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        try:
            cores.add(siblings.read_text())
        except OSError:  # a container may hide it
            cores.add(str(cpu))
    return max(1, int(min([len(cores), *_read_quotas(root)])))


def _read_quotas(root: Path) -> Iterator[float]:
    """Yield the quotas, in cores, of the control groups (version 1 or 2) that this process is in."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        folder = top / path.lstrip("/")
        # a group's quota holds for all groups below it; in a container the path may be the host's
        for place in (folder, *folder.parents) if folder.is_relative_to(top) else (top,):
            with suppress(OSError, ValueError, ZeroDivisionError):
                if controllers:
                    quota = (place / "cpu.cfs_quota_us").read_text()
                    period = (place / "cpu.cfs_period_us").read_text()
                else:
                    quota, period = (place / "cpu.max").read_text().split()
                if float(quota) > 0:  # version 1 writes -1, version 2 `max` for none
                    yield float(quota) / float(period)
            if place == top:
                break


def _count_running(root: Path) -> int:
    """Return the number of other tasks that run or wait for a core; 0 if the system does not tell.

    The load average covers the last minute, including runs of t2i that have ended. So this counts current tasks,
    and takes the smallest of a few counts, because many tasks run for only milliseconds.
    """
    least = 0
    for sample in range(_SAMPLES):
        try:
            running = int((root / "proc/loadavg").read_text().split()[3].partition("/")[0]) - 1
        except (OSError, ValueError, IndexError):
            return 0
        least = running if sample == 0 else min(least, running)
        if least <= 0:
            return 0
        time.sleep(_SAMPLE_SECONDS)
    return least
