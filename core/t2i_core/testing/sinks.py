"""Checks that every sink must pass: it writes runs of a model and a judge that need no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ..api.executor import ComponentSettings
from ..api.failure import Failure
from ..api.generator import ImageRequest
from ..api.metric import Metric
from ..api.metric_input import Need, Unit
from ..api.metric_output import Measure, Row
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import GeneratorInfo, MetricInfo, SinkInfo
from ..api.progress import Silent
from ..engine.component import Component
from ..engine.lifecycle import open_component
from ..engine.plan import make_plan
from ..engine.request import ModelRequest, Request
from ..engine.run import run_plan
from ..results.run import Run, load_run
from .components import ComponentContract
from .parts import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver


class _MeanReward(Metric):
    needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        for observed in unit.observed:
            yield Row("reward", float(observed.one("reward").value))


class _Broken:
    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Failure]]:
        for request in requests:
            yield request, Failure("blank")


_REWARD = MetricInfo(
    name="test-reward",
    summary="Mean reward.",
    create=_MeanReward,
    measures=(Measure("reward", "R."),),
)
_BROKEN = GeneratorInfo(name="test-broken", summary="Fails.", create=lambda setup: _Broken())


class SinkContract(ComponentContract):
    """Checks for every sink.

    Override `model` if the sink writes something only for some models.
    """

    kind = "sink"
    model: ClassVar[GeneratorInfo] = TEST_MODEL

    @pytest.fixture(autouse=True)
    def _own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def evaluate(self, out: Path, *models: GeneratorInfo, metrics: tuple[MetricInfo, ...] = (_REWARD,)) -> Run:
        """Run an evaluation; without metrics, generate images only."""
        request = Request(
            metrics=metrics,
            models=tuple(ModelRequest(model, f"model {n}") for n, model in enumerate(models)),
            prompts=(TEST_PROMPTS.name,),
            seeds=(0, 1),
            out=out,
            max_failed=1.0,
        )
        return run_plan(make_plan(request, StaticResolver(TEST_JUDGE, TEST_PROMPTS)))

    def test_leaves_the_runs_own_files_as_they_were(self, component: Component[SinkInfo], tmp_path: Path) -> None:
        """The run can be read afterwards, and each of its files is the same byte for byte."""
        run = self.evaluate(tmp_path / "run", self.model, self.model)
        before = _hash_files(run.folder)
        _write(component, run)
        after = _hash_files(run.folder)
        assert {name: digest for name, digest in after.items() if name in before} == before
        assert load_run(run.folder).manifest == run.manifest

    def test_writes_twice_to_the_same_result(self, component: Component[SinkInfo], tmp_path: Path) -> None:
        """The same run written again leaves the same files in its folder, byte for byte."""
        run = self.evaluate(tmp_path / "run", self.model)
        _write(component, run)
        once = _hash_files(run.folder)
        _write(component, load_run(run.folder))
        assert _hash_files(run.folder) == once

    def test_writes_runs_without_scores(self, component: Component[SinkInfo], tmp_path: Path) -> None:
        """Runs of `t2i generate`, and runs all of whose samples failed, are written too."""
        _write(component, self.evaluate(tmp_path / "images", self.model, metrics=()))
        failed = self.evaluate(tmp_path / "failed", self.model, _BROKEN)
        assert [result.score is None for result in failed.results] == [False, True]
        _write(component, failed)


def _write(component: Component[Any], run: Run) -> None:
    with open_component(component, ComponentSettings()) as sink, guard_plugin(component, "to write the run"):
        sink.write(run, Silent())


def _hash_files(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
