"""Runs of squares whose brightness is known, and the leaderboard's command over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    About,
    Generated,
    GeneratorInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    ObjectClass,
    Options,
    PairMetric,
    Prompt,
    PromptSourceInfo,
    Row,
    Scene,
)
from t2i_core.api.prompt import SceneObject
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_leaderboard.command import app
from typer.testing import CliRunner

SCRIPT = "</script><script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"


class PaintOptions(Options):
    level: int = 120


class Painter:
    """Paints squares of one shade, with noise of prompt and seed."""

    def __init__(self, setup: Any) -> None:
        self.level = setup.options.level

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            rng = np.random.default_rng([request.noise_seed, *request.prompt.text.encode()])
            shade = int(np.clip(self.level + rng.integers(-40, 40), 0, 255))
            yield request, Generated(np.full((16, 16, 3), shade, np.uint8))


class BrightOptions(Options):
    over: float = 0.5


class Bright(Metric):
    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("bright", float(unit.one().one("reward").value / 255 > self.options.over))


class Dark(Bright):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("dark", 1 - unit.one().one("reward").value / 255)


class Duel(PairMetric):
    needs = (Need("reward", "reward", queries=lambda pair: [each.query_with_text() for each in pair]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        first, second = unit.one().all("reward")
        yield Row("duel", float(first.value > second.value))

    def aggregate(self, table: Any, weights: Any) -> dict[str, float]:
        first, second, value = (table[name].to_numpy() for name in ("model_a", "model_b", "value"))
        sides = {label: (first == label, second == label) for label in {*first, *second}}
        return {
            label: float((weights * (a * value + b * (1 - value))).sum() / (weights * (a | b)).sum())
            for label, (a, b) in sides.items()
        }


BRIGHT = MetricInfo(
    name="bright",
    summary="Bright?",
    about=About(
        meaning="The share of images that are bright. Light is all that counts.", limits="It sees no objects."
    ),
    options=BrightOptions,
    create=Bright,
    measures=(Measure("bright", "Share of bright images.", low=0, high=1),),
)
DARK = MetricInfo(
    name="dark", summary="Dark?", options=BrightOptions, create=Dark,
    measures=(Measure("dark", "Mean darkness.", low=0, high=1, higher_is_better=False),),
)  # fmt: skip
DUEL = MetricInfo(
    name="duel", summary="Brighter?", create=Duel, measures=(Measure("duel", "Share of wins.", low=0, high=1),),
)  # fmt: skip
TWO_SQUARES = Scene((SceneObject(ObjectClass("square"), count=2),))
PAINT = GeneratorInfo(name="paint", summary="Squares.", options=PaintOptions, create=Painter)
PROMPTS = PromptSourceInfo(
    name="words",
    summary="Words.",
    prompts=lambda setup: [Prompt(id=f"p{n}", text=f"square {n}", scene=TWO_SQUARES) for n in range(8)],
)
PARTS = (PAINT, PROMPTS, TEST_JUDGE)
RESOLVER = StaticResolver(BRIGHT, DARK, DUEL, *PARTS)


def paint_run(
    folder: Path, label: str = "grey", level: int = 120, metrics: Any = ("bright", "dark"), **more: Any
) -> Path:
    """Write a run of one model."""
    how = {"prompts": "words", "seeds": 3, "resolver": RESOLVER, "progress": False, **more}
    evaluate(list(metrics), ModelRequest("paint", label, {"level": level}), out=folder, **how)
    return folder


@dataclass(frozen=True)
class Site:
    """A written site, and what the command said."""

    folder: Path
    code: int
    said: str

    @property
    def data(self) -> dict[str, Any]:
        """The content of its JSON."""
        found: dict[str, Any] = json.loads((self.folder / "leaderboard.json").read_text(encoding="utf-8"))
        return found

    def board(self, metric: str) -> dict[str, Any]:
        """Return the board of a metric."""
        return next(board for board in self.data["boards"] if board["metric"] == metric)

    def names(self, metric: str) -> list[str]:
        """Return the models of a board, the best first."""
        return [row["model"] for row in self.board(metric)["rows"]]


Write = Callable[..., Site]


@pytest.fixture(scope="session")
def eight(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Eight runs of two metrics, which no test changes."""
    folder = tmp_path_factory.mktemp("eight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return [paint_run(folder / f"r{n}", f"model {n}", 80 + 12 * n) for n in range(8)]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Run the command on runs; `resolver` finds the components."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path, out: str = "site", resolver: Any = RESOLVER) -> Site:
        monkeypatch.setattr("t2i_core.api.resolver.installed_resolver", lambda: resolver)
        done = CliRunner().invoke(app, [*map(str, words), "--out", out])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            return Site(
                tmp_path / out, getattr(done.exception, "exit_code", -1), f"{done.stderr}{done.exception!s}"
            )
        return Site(tmp_path / out, done.exit_code, done.stderr)

    return run
