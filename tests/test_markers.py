"""Every test is marked `unit` or `integration` by one rule (conftest.py of the repository)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

TESTS = """
import subprocess

import helpers
import pytest


@pytest.fixture
def process():
    return subprocess.Popen(["true"])


@pytest.fixture
def number():
    return 1


def call():
    return call_another()


def call_another():
    return subprocess.run(["true"])


class Session:
    def start(self):
        from http.server import ThreadingHTTPServer
        return ThreadingHTTPServer(("", 0), None)


def test_plain(number): ...
def test_directly(): subprocess.run(["true"])
def test_within(): (lambda: subprocess.run(["true"]))()
def test_by_fixture(process): ...
def test_by_helper(): call()
def test_by_class(): Session().start()
def test_by_module(): helpers.evaluate_it()
def test_other_function_of_module(): helpers.add()


class TestOfClass:
    def start(self):
        call()

    def test_by_method(self): self.start()
    def test_plain_method(self): ...
"""

HELPERS = """
def evaluate_it():
    from t2i_core import evaluate
    return evaluate("metric")


def add():
    return 2
"""

UNIT = {"test_plain", "test_other_function_of_module", "test_plain_method"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\npythonpath = tests\n")
    (folder / "tests" / "helpers.py").write_text(HELPERS)
    (folder / "tests" / "test_it.py").write_text(TESTS)
    return folder


def list_tests(folder: Path, marker: str) -> set[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "--co", "-m", marker]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
    return {line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line}


@pytest.mark.long
def test_each_test_has_one_of_the_two_markers(project: Path, request: pytest.FixtureRequest) -> None:
    assert list_own_markers(request) == {"integration"}  # it starts pytest
    unit, integration = list_tests(project, "unit"), list_tests(project, "integration")
    assert unit == UNIT
    assert not unit & integration
    assert unit | integration == list_tests(project, "unit or not unit")


def test_a_test_that_starts_nothing_is_a_unit_test(request: pytest.FixtureRequest) -> None:
    assert list_own_markers(request) == {"unit"}


def list_own_markers(request: pytest.FixtureRequest) -> set[str]:
    return {mark.name for mark in request.node.iter_markers()} & {"unit", "integration"}
