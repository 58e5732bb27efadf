import os
import signal
import subprocess
import sys
import time

import pytest
from loky import wrap_non_picklable_objects
from t2i_miniworld.workers import map_ordered

ORPHANS = """
import os, signal
from t2i_miniworld.workers import map_ordered
def pid(number):
    return os.getpid()
pids = map_ordered(pid, range(100), workers=2)
print(next(pids)[1], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


DEAF = """
import re
from pathlib import Path
from t2i_miniworld import workers
from loky.backend import fork_exec
start = fork_exec.fork_exec
def started(*words, **more):
    number = start(*words, **more)
    print(re.search(r"SigBlk:\\s*(\\w+)", Path(f"/proc/{number}/status").read_text())[1], flush=True)
    return number
fork_exec.fork_exec = started
list(workers.map_ordered(abs, range(2), workers=2))
"""


@wrap_non_picklable_objects  # the workers cannot import this file by name
def slow_square(number):
    time.sleep(0.05 * (number % 3))
    return number * number


@wrap_non_picklable_objects
def fail_on_three(number):
    if number == 3:
        raise ZeroDivisionError("three")
    return number


def test_results_come_in_order_with_their_jobs():
    assert list(map_ordered(slow_square, range(12), workers=2)) == [(n, n * n) for n in range(12)]
    assert list(map_ordered(slow_square, range(3), workers=1)) == [(0, 0), (1, 1), (2, 4)]


def test_errors_of_jobs_are_raised_by_the_caller():
    with pytest.raises(ZeroDivisionError, match="three"):
        list(map_ordered(fail_on_three, range(6), workers=2))


@wrap_non_picklable_objects
def quick_once(number):
    time.sleep(60 if number else 0)


def test_stopping_early_does_not_wait_for_jobs_in_flight():
    results = map_ordered(quick_once, range(20), workers=2)
    assert next(results) == (0, None)
    before = time.monotonic()
    results.close()
    assert time.monotonic() - before < 20
    assert list(map_ordered(slow_square, range(3), workers=2)) == [(0, 0), (1, 1), (2, 4)]


def test_workers_below_one_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        next(map_ordered(slow_square, [1], workers=0))


@wrap_non_picklable_objects
def process(_):
    return os.getpid()


def test_as_many_processes_as_cores_that_may_be_used(monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert len({own for _, own in map_ordered(process, range(8))}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_are_deaf_to_ctrl_c_from_their_first_moment_on():
    """A new process, for the first worker of a process is started otherwise than all others."""
    done = subprocess.run([sys.executable, "-c", DEAF], capture_output=True, text=True, check=True)
    masks = done.stdout.split()
    assert len(masks) == 2
    assert all(int(mask, 16) & 1 << (signal.SIGINT - 1) for mask in masks)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_workers_leave_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    worker = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a worker outlived its parent by ten seconds")
