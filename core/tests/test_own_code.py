"""Evaluations of components that are in no installed distribution."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Derive,
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Reward,
    Row,
)
from t2i_core.api.errors import NotReused
from t2i_core.engine.component import settle_component
from t2i_core.files.package_files import digest_sources
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")


class Asks(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("mean", unit.one().one("reward").value)


def metric(create: Any, name: str = "mean") -> MetricInfo:
    return MetricInfo(name=name, summary="Mean.", create=create, measures=(Measure("mean", "Mean."),))


def run(metrics: Any, model: Any = TEST_MODEL, *infos: Any, **more: Any) -> Any:
    infos = infos or (TEST_JUDGE,)
    resolver = StaticResolver(TEST_PROMPTS, *infos)
    return evaluate(metrics, model, prompts="test-prompts", seeds=2, resolver=resolver, **more)


def test_a_judge_without_a_digest_works_once_in_a_run_and_warns_once() -> None:
    lock, asked = threading.Lock(), []

    class Locked:
        def observe(self, capability: str, queries: Any) -> Any:
            for query in queries:
                with lock:
                    asked.append(query)
                    yield query, Reward(0.5)

    judge = JudgeInfo(name="locked", summary="L.", capabilities={"reward": frozenset()}, create=lambda s: Locked())
    metrics = [metric(Asks), metric(Asks, "another")]
    for times in (1, 2):
        with pytest.warns(NotReused, match="judge 'locked'.*the closure value 'lock' of .*lock") as caught:
            done = run(metrics, TEST_MODEL, judge)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert [result.n_ok for result in done.results] == [4, 4]
        assert len(asked) == 4 * times


def test_a_metric_without_a_digest_warns_where_numbers_are_kept_under_it() -> None:
    lock, derived = threading.Lock(), []

    def mean(pixels: Any, observation: Any) -> Any:
        with lock:
            derived.append(1)
            return {"mean": np.array([pixels.mean()])}

    class Derives(Metric):
        needs = (Need("light", "pixels", derive=Derive("mean", mean)),)

        def measure(self, unit: Any) -> Any:
            yield Row("mean", float(unit.one().derived("light")["mean"][0]))

    class Locked(Asks):
        held = lock

    models = [TEST_MODEL, replace(TEST_MODEL, name="twin")]  # whose images are the same
    for times in (1, 2):
        with pytest.warns(NotReused, match="metric 'mean', derived 'mean'") as caught:
            assert run(metric(Derives), models).failed is None
        assert len(caught) == 1
        assert len(derived) == 4 * times
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(metric(Locked)).failed is None


def test_a_run_without_a_digest_is_measured_under_the_key_that_it_was_planned_with() -> None:
    level = [1]

    class Steps:
        def observe(self, capability: str, queries: Any) -> Any:
            for query in queries:
                level[0] += 1  # changes what the code refers to, in the middle of a run
                yield query, Reward(0.5)

    judge = JudgeInfo(name="steps", summary="S.", capabilities={"reward": frozenset()}, create=lambda s: Steps())
    assert run(metric(Asks), TEST_MODEL, judge).results[0].n_ok == 4
    assert level == [5]
    run(metric(Asks), TEST_MODEL, judge)
    assert level == [5]


def test_images_alone_are_kept_though_their_model_changes_as_it_works() -> None:
    drawn = [0]

    class Counts:
        def generate(self, requests: Any) -> Any:
            for request in requests:
                drawn[0] += 1
                yield request, Generated(np.full((4, 4, 3), drawn[0], np.uint8))

    model = GeneratorInfo(name="counts", summary="C.", create=lambda s: Counts())
    assert [run((), model).made.images for _ in range(2)] == [4, 0]
    assert drawn == [4]


SCRIPT = """
import json, sys
import numpy as np
from t2i_core.api import Generated, GeneratorInfo, Measure, Metric, MetricInfo, Need, Row
from t2i_core import evaluate
from t2i_core.testing import TEST_JUDGE, TEST_PROMPTS, StaticResolver
import own_shade

class Grey:
    def generate(self, requests):
        for request in requests:
            yield request, Generated(np.full((4, 4, 3), own_shade.shade(LEVEL), np.uint8))

class Asks(Metric):
    needs = (Need("reward", "reward"),)
    def measure(self, unit):
        yield Row("mean", unit.one().one("reward").value)

LEVEL = int(sys.argv[1])
grey = GeneratorInfo(name="grey", summary="Grey.", create=lambda setup: Grey())
mean = MetricInfo(name="mean", summary="Mean.", create=Asks, measures=(Measure("mean", "Mean."),))
run = evaluate(mean, grey, prompts="test-prompts", seeds=1, resolver=StaticResolver(TEST_PROMPTS, TEST_JUDGE))
print(json.dumps([run.results[0].score, run.made.images]))
"""
SHADE = "def shade(level): return level + {more}\n"


@pytest.mark.long
def test_scripts_and_their_modules_behave_like_notebooks(tmp_path: Path) -> None:
    def said(level: int, more: int, script: str = SCRIPT) -> Any:
        (tmp_path / "script.py").write_text(script)
        (tmp_path / "own_shade.py").write_text(SHADE.format(more=more))
        command = [sys.executable, "-B", "script.py", str(level)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert said(10, 1) == [11, 2]
    assert said(20, 1) == [21, 2]
    assert said(20, 5000 - 4989) == [31, 2]
    assert said(10, 1, f"# a comment\n{SCRIPT}") == [11, 0]


def test_data_of_a_package_that_is_not_installed_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    fingerprints = []
    for text in ("a", "b"):
        package = tmp_path / f"own_pack_{text}"
        package.mkdir()
        (package / "__init__.py").write_text("def create(setup): ...")
        (package / "words.txt").write_text(text)
        create = __import__(package.name).create
        fingerprints.append(settle_component(GeneratorInfo(name="x", summary="X.", create=create)).fingerprint)
    assert fingerprints[0] != fingerprints[1]


def test_installed_code_keeps_its_fingerprint() -> None:
    found = settle_component(TEST_MODEL)
    assert found.is_installed
    assert found.code_digest == digest_sources("t2i_core.testing.parts", ("**/*",))
