"""An image that another process makes again during a run, and that looks different then."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Reward,
    Row,
)
from t2i_core.api.errors import BadFolder
from t2i_core.api.metric_input import Derive
from t2i_core.api.progress import Silent, Task
from t2i_core.engine.evaluation import evaluate
from t2i_core.storage.encoded_image import encode_image
from t2i_core.storage.store import DATABASE, Store
from t2i_core.testing import StaticResolver


def draw(value: int) -> np.ndarray:
    return np.full((8, 8, 3), value, np.uint8)


class Painter:
    def generate(self, requests: Iterable[Any]) -> Iterator[Any]:
        for request in requests:
            yield request, Generated(draw(10 + request.seed))


class Eye:
    def observe(self, capability: str, queries: Iterable[Any]) -> Iterator[Any]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()))


class Brightness(Metric):
    """As bright as the judge says."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("bright", unit.one().one("reward").value)


def mean(pixels: Any, reward: Any) -> dict[str, Any]:
    return {"mean": np.asarray([pixels.mean()])}


class OwnBrightness(Metric):
    """As bright as the metric itself finds the image."""

    needs = (Need("reward", "reward", derive=Derive("mean", mean)),)

    def measure(self, unit: Any) -> Any:
        yield Row("bright", float(unit.one().answers["reward"][0].derived["mean"][0]))


class During(Silent):
    """Does something when a task begins."""

    def __init__(self, title: str, act: Callable[[], None]) -> None:
        self.title, self.act = title, act

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Task]:
        if title.startswith(self.title):
            self.act()
        return super().task(title, total, unit)


@pytest.fixture
def values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Evaluate, and return the value of each seed."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def evaluated(metric: type[Metric], progress: Any = None) -> list[float]:
        run = evaluate(
            MetricInfo(name="bright", summary="Mean.", create=metric, measures=(Measure("bright", "Mean."),)),
            GeneratorInfo(name="painter", summary="Paints.", create=lambda setup: Painter()),
            prompts="one",
            seeds=4,
            out=tmp_path / metric.__name__,
            resolver=StaticResolver(
                JudgeInfo(
                    name="eye",
                    summary="Looks.",
                    capabilities={"reward": frozenset()},
                    create=lambda setup: Eye(),
                ),
                PromptSourceInfo(name="one", summary="One.", prompts=lambda setup: [Prompt("p", "a wall")]),
            ),
            progress=progress,
        )
        return run.measurements()["value"].astype(float).tolist()

    return evaluated


def redraw(cache: Path, old: int, new: int) -> None:
    """Make an image again, as a process that finds it damaged and whose model draws differently each time."""
    with closing(sqlite3.connect(cache / DATABASE)) as database:
        keys = [key.hex() for (key,) in database.execute("select key from images")]
    with Store(cache) as store:
        for key, image in zip(keys, store.images(keys), strict=True):
            if image is not None and image.pixels[0, 0, 0] == old:
                store.forget_image(image.digest)
                store.put_image(key, encode_image(draw(new)))


@pytest.mark.parametrize(("metric", "task"), [(Brightness, "reward by"), (OwnBrightness, "numbers from")])
def test_its_answers_are_not_kept_as_answers_about_the_image_before(
    values: Callable[..., list[float]], tmp_path: Path, metric: type[Metric], task: str
) -> None:
    cache = tmp_path / "cache"
    if metric is OwnBrightness:  # the answers are kept, only the numbers from them are not
        values(Brightness)
    with pytest.raises(BadFolder, match="was removed or changed during the run"):
        values(metric, During(task, lambda: redraw(cache, 12, 200)))
    assert values(metric) == [10, 11, 200, 13]
    redraw(cache, 200, 12)
    assert values(metric) == [10, 11, 12, 13]
