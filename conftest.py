"""On the build machine nothing may be skipped: what a test needs, `.ci/run` installs."""

from __future__ import annotations

import os
import signal

import pytest

#: `uv run pytest` would have every command under test think that it was called by `uv run` itself.
os.environ.pop("UV_RUN_RECURSION_DEPTH", None)

#: A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what was skipped (an expected failure is no skip)."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn skips into a failure there."""
    if os.environ.get("CI") and _skipped:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped there."""
    if os.environ.get("CI") and _skipped:
        terminalreporter.write_line(f"skipped, which counts as failed here: {', '.join(_skipped)}", red=True)
