"""On the build machine nothing may be skipped: what a test needs, `.ci/run` installs."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

#: `uv run pytest` would have every command under test think that it was called by `uv run` itself.
os.environ.pop("UV_RUN_RECURSION_DEPTH", None)

#: Containers mostly say so, and then each process that a test starts compiles all of torch and pandas for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: The tests have a process for each core already: neither torch nor the simulator needs more of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")

#: Shared machines stall: a slow example is not a failure.
settings.register_profile("t2i", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("t2i")

#: A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Folders that pytest, Hypothesis and Python write beside the tests, and checks of the code that run meanwhile.
_TOOL_FOLDERS = {
    "__pycache__",
    ".hypothesis",
    ".import_linter_cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
}

#: Names of what starts a run, a process or a server. A test whose code uses one of them is marked `integration`.
_STARTERS = frozenset(
    ["evaluate", "run_plan", "CliRunner", "subprocess", "multiprocessing", "HTTPServer", "ThreadingHTTPServer"]
)

#: Else Triton's library tells, as Python ends, of all that is still there. Not earlier, because pytest collects
#: garbage five times when the last test has run.
atexit.register(gc.unfreeze)

_skipped: list[str] = []
_left_behind: list[str] = []
_before = pytest.StashKey[set[Path]]()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Turn garbage collection off while tests are collected.

    What they import is never freed, and searching it takes seconds.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _what_is_there_stays() -> None:
    """Spare the garbage collector a million things that all test modules import: each run lets go of its parts
    twice, and looking through all that takes several times as long as a small run.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium under Playwright.

    It ends with the module: as long as it lives, nothing else in this process can start an event loop.
    """
    # tests take half as long in the headless shell
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    executable = next((path for name in names if (path := shutil.which(name))), None)
    if executable is None:
        pytest.skip("no Chromium here: apt-get install chromium-headless-shell")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield found
        found.close()


def pytest_configure(config: pytest.Config) -> None:
    """Register the two markers that every test has one of."""
    starts = "starts a run, a process or a server"
    config.addinivalue_line(
        "markers", f"integration: {starts}, itself or by a fixture or helper; set by conftest.py"
    )
    config.addinivalue_line("markers", "unit: every other test; set by conftest.py")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test `unit` or `integration`."""
    known: dict[CodeType, bool] = {}
    for item in items:
        functions = [item.function] if isinstance(item, pytest.Function) else []
        fixtures = getattr(item, "_fixtureinfo", None)
        for definitions in fixtures.name2fixturedefs.values() if fixtures else ():
            functions.append(definitions[-1].func)
        owner = getattr(item, "cls", None)
        starts = any(_starts_something(function, owner, known) for function in functions)
        item.add_marker(pytest.mark.integration if starts else pytest.mark.unit)


def _starts_something(function: Any, owner: type | None, known: dict[CodeType, bool]) -> bool:
    """Return whether a function starts something, or functions and classes of tests that it names do."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        return False
    if function.__code__ not in known:
        known[function.__code__] = False  # for functions that call themselves
        names = set(_list_names(function.__code__))
        known[function.__code__] = not _STARTERS.isdisjoint(names) or any(
            _starts_something(named, owner, known) for named in _find_own(names, function.__globals__, owner)
        )
    return known[function.__code__]


def _list_names(code: CodeType) -> Iterator[str]:
    """Yield the names that code uses: globals, attributes and imports, those of functions within it too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def _find_own(names: set[str], scope: dict[str, Any], owner: type | None) -> Iterator[Any]:
    """Yield the functions among these names that belong to tests, and the methods of their classes."""
    named = [scope[name] for name in names if name in scope]
    modules = [value for value in named if isinstance(value, ModuleType) and _is_of_tests(value)]
    named += [getattr(module, name) for module in modules for name in names if hasattr(module, name)]
    named += [
        vars(base)[name] for base in (owner.__mro__ if owner else ()) for name in names if name in vars(base)
    ]
    for value in named:
        if isinstance(value, type) and _is_of_tests(sys.modules.get(value.__module__)):
            yield from (each for each in vars(value).values() if isinstance(each, FunctionType))
        elif isinstance(value, FunctionType) and _is_of_tests(sys.modules.get(value.__module__)):
            yield value


def _is_of_tests(module: ModuleType | None) -> bool:
    """Return whether a module holds tests, or the conformance kit, which has tests of plugins."""
    file = Path(getattr(module, "__file__", None) or "")
    return not {"tests", "testing"}.isdisjoint(file.parts) or file.name == "conftest.py"


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
    """Fail if tests left files behind or, on the build machine, were skipped."""
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
