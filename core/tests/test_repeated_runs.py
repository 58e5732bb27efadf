"""A command that repeats a finished run and measures nothing keeps the run's times and its command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from t2i_core import Run, evaluate
from t2i_core.api import (
    ExistingImagesInfo,
    Failure,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Progress,
    Row,
    SinkInfo,
    Unit,
)
from t2i_core.engine import run as run_module
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.engine.run import run_plan
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")

MANIFEST = Path("run/run.json")
FOUND = ExistingImagesInfo(name="found", summary="S.", create=TEST_MODEL.create)


class Reward(Metric):
    needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        for observed in unit.observed:
            yield Row("reward", float(observed.one("reward").value))


REWARD = MetricInfo(
    name="reward", summary="S.", create=Reward, measures=(Measure("reward", "R.", higher_is_better=True),)
)


@pytest.fixture(autouse=True)
def _pass_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every time that is asked for be another minute, and restore the command line."""
    monkeypatch.setattr(sys, "argv", sys.argv)
    minutes = count()
    monkeypatch.setattr(run_module, "get_time", lambda: f"2026-11-01T10:{next(minutes):02}:00+00:00")


def measure(*words: str, model: Any = TEST_MODEL, sinks: tuple[Any, ...] = (), **more: Any) -> Run:
    sys.argv = ["t2i", *words]
    resolver = StaticResolver(TEST_JUDGE, TEST_PROMPTS)
    return evaluate(
        REWARD, model, prompts="test-prompts", seeds=2, out="run", resolver=resolver, sinks=sinks, **more
    )


def generate(*words: str, model: Any = TEST_MODEL, sinks: tuple[Any, ...] = (), **more: Any) -> Run:
    sys.argv = ["t2i", *words]
    request = Request(models=model, prompts=("test-prompts",), seeds=(0, 1), out=Path("run"), sinks=sinks, **more)
    return run_plan(make_plan(request, StaticResolver(TEST_PROMPTS)))


def read_times(run: Run) -> tuple[str, str | None, list[str]]:
    return run.manifest.started, run.manifest.finished, run.manifest.command


def edit_manifest(**fields: Any) -> None:
    MANIFEST.write_text(json.dumps(json.loads(MANIFEST.read_text()) | fields))


class Written:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.info = SinkInfo(name="kept", summary="S.", create=lambda setup: self)

    def write(self, run: Run, progress: Progress) -> None:
        self.runs.append(run)


@pytest.mark.parametrize("model", [TEST_MODEL, FOUND], ids=["generated", "found"])
@pytest.mark.parametrize("command", [measure, generate])
def test_a_repeated_command_keeps_times_and_command_and_sinks_get_them(
    command: Callable[..., Run], model: Any
) -> None:
    first = command("first", model=model)
    written = Written()
    again = command("again", model=model, sinks=(written.info,))
    assert read_times(again) == read_times(first)
    assert first.manifest.command == ["t2i", "first"]
    assert [read_times(run) for run in written.runs] == [read_times(first)]
    assert json.loads(MANIFEST.read_text())["started"] == first.manifest.started
    assert json.loads(MANIFEST.read_text())["request"]["sinks"] == ["kept"]


def test_a_run_that_has_failed_keeps_its_times() -> None:
    class Half(type(TEST_MODEL.create(None))):  # type: ignore[misc]
        def generate(self, requests: Any) -> Iterator[Any]:
            for each in super().generate(requests):
                yield (each[0], Failure("no")) if each[0].seed else each

    model = replace(TEST_MODEL, name="half", create=lambda setup: Half())
    first = measure("first", model=model)
    assert first.failed is not None
    again = measure("again", model=model, max_failed=1.0)
    assert again.manifest.status == "done"
    assert read_times(again) == read_times(first)


def find_another_result() -> Run:
    (result,) = json.loads(MANIFEST.read_text())["results"]
    edit_manifest(results=[result | {"n_ok": 3}])
    return measure("again")


def find_a_damaged_manifest() -> Run:
    MANIFEST.write_text("{")
    return measure("again")


def resume() -> Run:
    edit_manifest(status="running", finished=None)
    return measure("again")


@pytest.mark.parametrize("repeat", [find_another_result, find_a_damaged_manifest, resume])
def test_a_command_that_measures_or_finds_another_result_has_its_own_times(repeat: Callable[[], Run]) -> None:
    first = measure("first")
    again = repeat()
    assert again.manifest.command == ["t2i", "again"]
    assert again.manifest.started > str(first.manifest.finished)


@pytest.mark.parametrize("model", [TEST_MODEL, FOUND], ids=["generated", "found"])
def test_a_fresh_run_has_its_own_times(model: Any) -> None:
    first = measure("first", model=model)
    again = measure("again", model=model, fresh=True)  # of images that are found, only the judge's answers are new
    assert again.results == first.results
    assert again.manifest.command == ["t2i", "again"]
    assert again.manifest.started > str(first.manifest.finished)


def test_shards_are_finished_by_the_command_that_joins_them() -> None:
    for part in (1, 2):
        measure("part", shard=(part, 2))
    joined = measure("joined")
    assert joined.manifest.command == ["t2i", "joined"]
    assert read_times(measure("again")) == read_times(joined)
