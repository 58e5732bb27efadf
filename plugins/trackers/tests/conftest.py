"""A run of two models whose images have values and reasons."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from t2i_core import ModelRequest, Run, evaluate
from t2i_core.api import Failure, Measure, MetricInfo, Row, Unit
from t2i_core.api.metric import Metric
from t2i_core.api.metric_input import Need
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

HOSTILE = "<script>alert(1)</script>/../a|b"


class Bright(Metric):
    """The judge's reward, with a reason."""

    needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Unit) -> Iterator[Row | Failure]:
        for observed in unit.observed:
            yield Row("bright", float(observed.one("reward").value), because="too dark")


BRIGHT = MetricInfo(
    name="bright",
    summary="Mean brightness.",
    create=Bright,
    measures=(Measure("bright", "Brightness.", higher_is_better=True),),
)
RESOLVER = StaticResolver(TEST_MODEL, TEST_JUDGE, TEST_PROMPTS, BRIGHT)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("trackers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        yield evaluate(
            "bright",
            [ModelRequest(TEST_MODEL.name, label, {}) for label in ("plain", HOSTILE)],
            prompts=TEST_PROMPTS.name,
            seeds=2,
            out=folder / "run",
            resolver=RESOLVER,
        )


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clients keep their files in the test's folder, and none of them use the network."""
    for hook in ("exit", "excepthook"):  # which wandb replaces for good
        monkeypatch.setattr(sys, hook, getattr(sys, hook))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
