"""On the build machine nothing may be skipped: what a test needs, `.ci/run` installs."""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest

#: `uv run pytest` would have every command under test think that it was called by `uv run` itself.
os.environ.pop("UV_RUN_RECURSION_DEPTH", None)

#: Containers mostly say so, and then each process that a test starts compiles all of torch and pandas for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: The tests have a process for each core already: neither torch nor the simulator needs more of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

#: A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_skipped: list[str] = []


@pytest.fixture(autouse=True, scope="module")
def _what_is_there_stays() -> None:
    """Spare the garbage collector a million things that all test modules import: each run lets go of its parts
    twice, and looking through all that takes several times as long as a small run.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what was skipped (an expected failure is no skip)."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn skips into a failure there, and leave nothing frozen."""
    gc.unfreeze()  # else Triton's library tells, as Python ends, of all that is still there
    if os.environ.get("CI") and _skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped there."""
    if os.environ.get("CI") and _skipped:
        terminalreporter.write_line(f"skipped, which counts as failed here: {', '.join(_skipped)}", red=True)
