"""Runs to read: squares whose brightness is known, prompts that would do harm if they were anything but text."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    Failure,
    Generated,
    LikelihoodTerms,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Options,
    Prompt,
    PromptSourceInfo,
    Query,
    Row,
    SelfJudgingInfo,
)
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis, Study
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver

PROMPTS = {
    "plain": "a red dog",
    "script": "</script><script>document.title = 'stolen'</script><img src=x onerror=\"document.title='stolen'\">",
    "template": "{{ 7 * 7 }} {% raw %} \u202eright to left\u202c '\" & -- <!-- </p>",
    "lines": "two\nlines and a bell \x07",
}


class PaintOptions(Options):
    level: int = 120
    fails: bool = False
    size: int = 24
    wide: bool = False


class Painter:
    """Paints squares, brighter with each seed; one image fails, if asked for.

    device: what another machine would make of the same request
    """

    device = 0

    def __init__(self, setup: Any) -> None:
        self.options = setup.options

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            if self.options.fails and request.prompt.id == "plain" and request.seed == 1:
                yield request, Failure("the filter <b>blanked</b> it", final=True)
                continue
            noise = zlib.crc32(request.prompt.text.encode()) % 20
            shade = self.device + self.options.level + 30 * (request.seed % 4) + noise
            size = self.options.size
            pixels = np.full((size, 2 * size if self.options.wide else size, 3), shade, np.uint8)
            pixels[: request.seed % 20 + 1, :, 0] = 255
            yield request, Generated(pixels)

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            yield query, LikelihoodTerms({"level": np.full(len(query.texts), float(self.options.level))})


class BrightOptions(Options):
    over: float = 0.6


class Bright(Metric):
    """Whether an image is bright, and how bright each half."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        value = unit.one().one("reward").value / 255
        yield Row("bright", float(value > self.options.over))
        for half in ("left", "right"):
            yield Row("shade", value, {"half": half})

    def analyses(self, study: Study) -> Iterator[Analysis]:
        shades = study.table[study.table["measure"] == "shade"]
        means = shades.groupby("prompt")["value"].mean().reset_index()
        yield Analysis("prompts", "Means of <prompts>.", means, BarChart(label="prompt", value="value"))


class Broken(Bright):
    """The same, but it has no analyses to give."""

    def analyses(self, study: Study) -> Iterator[Analysis]:
        raise KeyError("oops")


class Own(Metric):
    """What the model itself says of each prompt's text: no image is made."""

    needs = (
        Need(
            "level",
            "likelihood",
            source="model",
            images="prompt",
            queries=lambda samples: [Query((), (samples[0].prompt.text,))],
        ),
    )

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("level", float(unit.one().one("level").terms["level"][0]))


BRIGHT = MetricInfo(
    name="bright",
    summary="Bright?",
    options=BrightOptions,
    create=Bright,
    measures=(
        Measure("bright", "Share of bright images.", low=0, high=1, facets=("kind",)),
        Measure("shade", "Mean shade.", low=0, high=1, facets=("half",)),
    ),
)
BROKEN = MetricInfo(
    name="broken", summary="Broken.", options=BrightOptions, create=Broken,
    measures=(
        Measure("bright", "Share.", low=0, high=1, higher_is_better=False),
        Measure("shade", "Shade.", low=0, high=1),
    ),
)  # fmt: skip
OWN = MetricInfo(name="own", summary="Its level.", create=Own, measures=(Measure("level", "Its own level."),))
PAINT = SelfJudgingInfo(
    name="paint", summary="Squares.", options=PaintOptions, create=Painter, capabilities=frozenset({"likelihood"})
)
LISTED = PromptSourceInfo(
    name="listed",
    summary="Listed.",
    prompts=lambda setup: (
        Prompt(id=id, text=text, facets={"kind": "plain" if id == "plain" else "hostile"})
        for id, text in PROMPTS.items()
    ),
)
RESOLVER = StaticResolver(BRIGHT, BROKEN, OWN, PAINT, LISTED, TEST_JUDGE)

MakeRun = Callable[..., Run]


@pytest.fixture(scope="session")
def resolver() -> StaticResolver:
    """Finds the parts of these runs."""
    return RESOLVER


def write_run(folder: Path, metrics: Any = "bright", seeds: int = 4, models: Any = None, **more: Any) -> Run:
    """Have core make a run of squares; each model has a label and options."""
    asked = models or {"dark": {"level": 60}, "light": {"level": 110}}
    evaluate(
        metrics,
        [ModelRequest("paint", label, settings) for label, settings in asked.items()],
        prompts="listed",
        seeds=seeds,
        out=folder,
        resolver=RESOLVER,
        **{"max_failed": 0.5, **more},
    )
    return load_finished_run(folder)


@pytest.fixture
def make_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Make runs in the test's folder."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return lambda name="run", **how: write_run(tmp_path / name, **how)


@pytest.fixture
def on_another_machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have models draw from now on what another machine would."""
    return lambda: monkeypatch.setattr(Painter, "device", 3)


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two metrics and two models, one image of which failed, that no test changes."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return write_run(
            folder / "run",
            ["bright", "broken"],
            models={"dark": {"level": 60}, "light": {"level": 110, "fails": True}},
        )
