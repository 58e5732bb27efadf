"""On the build machine nothing may be skipped: what a test needs, `.ci/run` installs."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

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

#: Folders that pytest, Hypothesis and Python write beside the tests.
_TOOL_FOLDERS = {"__pycache__", ".hypothesis", ".pytest_cache"}

_skipped: list[str] = []
_left_behind: list[str] = []
_before = pytest.StashKey[set[Path]]()


@pytest.fixture(autouse=True, scope="module")
def _what_is_there_stays() -> None:
    """Spare the garbage collector a million things that all test modules import: each run lets go of its parts
    twice, and looking through all that takes several times as long as a small run.
    """
    gc.collect()
    gc.freeze()


def _entries(config: pytest.Config) -> set[Path]:
    """Return what the repository's root, the working directory and their ``t2i-runs`` contain."""
    roots = {config.rootpath, config.invocation_params.dir}
    folders = [folder for root in roots for folder in (root, root / "t2i-runs") if folder.is_dir()]
    return {entry for folder in folders for entry in folder.iterdir() if entry.name not in _TOOL_FOLDERS}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember what is there before the first test, so that ``pytest_sessionfinish`` sees what tests leave."""
    if not hasattr(session.config, "workerinput"):  # one process looks for all workers of pytest-xdist
        session.config.stash[_before] = _entries(session.config)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what was skipped (an expected failure is not a skip)."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Unfreeze the garbage collector; fail if tests left files behind or, on the build machine, were skipped."""
    gc.unfreeze()  # else Triton's library tells, as Python ends, of all that is still there
    if _before in session.config.stash:
        _left_behind.extend(sorted(map(str, _entries(session.config) - session.config.stash[_before])))
    if _left_behind or (os.environ.get("CI") and _skipped):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the skipped tests and the files left behind that made the session fail."""
    if _left_behind:
        terminalreporter.write_line(
            f"tests left files in the working directory: {', '.join(_left_behind)}; "
            "write to tmp_path, or change to it with monkeypatch.chdir",
            red=True,
        )
    if os.environ.get("CI") and _skipped:
        terminalreporter.write_line(f"skipped, which counts as failed here: {', '.join(_skipped)}", red=True)
