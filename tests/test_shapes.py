"""Every shape of metric that the contracts must carry, as a small real metric through the same evaluation."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import sqrtm
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    LikelihoodTerms,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Options,
    PairMetric,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Query,
    Row,
    SelfJudgingInfo,
    SetMetric,
)
from t2i_core.engine.component import settle_component
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.testing import TEST_JUDGE, TEST_PROMPTS, StaticResolver

RESOLVER = StaticResolver(TEST_JUDGE, TEST_PROMPTS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


class Shade(Options):
    """Options of the shaded model."""

    mean: float = 128.0


class Shaded:
    """Draws noise around a mean grey."""

    def __init__(self, setup: Any) -> None:
        self.mean = setup.options.mean

    def generate(self, requests: Any) -> Iterator[Any]:
        for r in requests:
            rng = np.random.default_rng([r.seed, int(self.mean), *r.prompt.text.encode()])
            yield r, Generated(np.clip(rng.normal(self.mean, 40, (16, 16, 3)), 1, 255).astype(np.uint8))


SHADED = GeneratorInfo(name="shaded", summary="Grey noise.", options=Shade, create=Shaded)


# one sample ---------------------------------------------------------------------------------------------------


class MeanReward(Metric):
    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value)


MEAN_REWARD = MetricInfo(
    name="mean-reward", summary="Mean reward.", create=MeanReward, measures=(Measure("reward", "Mean reward."),)
)


def test_samples_are_averaged_and_models_compared_paired(tmp_path: Path) -> None:
    run = evaluate(
        MEAN_REWARD,
        [ModelRequest(SHADED, "dark", {"mean": 100}), ModelRequest(SHADED, "light", {"mean": 120})],
        prompts="test-prompts",
        seeds=8,
        out=tmp_path / "run",
        resolver=RESOLVER,
    )
    dark, light = run.results
    assert dark.settings == {"mean": 100}
    assert dark.n_ok == light.n_ok == 16
    table = run.measurements()
    assert dark.score == pytest.approx(table[table["model"] == "dark"]["value"].mean())
    (comparison,) = run.comparisons
    assert comparison.diff == pytest.approx(dark.score - light.score)
    assert comparison.n == 16
    assert comparison.ci[0] < comparison.diff < comparison.ci[1] < 0
    assert comparison.p_adjusted < 0.05
    assert len(run.samples()) == 32
    assert (run.folder / run.samples()["image"][0]).is_file()


# a prompt's samples -------------------------------------------------------------------------------------------


class Spread(PromptMetric):
    """How far a prompt's images lie apart: mean distance of their features from their centre."""

    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        points = np.stack([o.one("features").values for o in unit.observed])
        yield Row("spread", float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean()))


SPREAD = MetricInfo(
    name="spread", summary="Spread.", create=Spread, measures=(Measure("spread", "Spread.", low=0),)
)


def test_prompts_are_measured_over_their_seeds(tmp_path: Path) -> None:
    run = evaluate(SPREAD, SHADED, prompts="test-prompts", seeds=5, out=tmp_path / "run", resolver=RESOLVER)
    (result,) = run.results
    assert result.n_ok == 10
    assert len(run.measurements()) == 2
    assert result.ci[0] < result.score < result.ci[1]


# a model's set ------------------------------------------------------------------------------------------------


class Frechet(SetMetric):
    """Frechet distance of the images' features from a standard normal distribution around mid-grey."""

    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Iterator[Row]:
        points = np.stack([o.one("features").values.astype(float) for o in unit.observed]) - 128
        mean, cov = points.mean(axis=0), np.cov(points.T)
        yield Row("frechet", float(mean @ mean + np.trace(cov + np.eye(3) - 2 * sqrtm(cov).real)))


FRECHET = MetricInfo(
    name="frechet",
    summary="Frechet distance.",
    create=Frechet,
    measures=(Measure("frechet", "Frechet distance.", low=0, higher_is_better=False),),
)


@pytest.mark.long
def test_a_models_set_is_measured_whole_and_jackknifed(tmp_path: Path) -> None:
    models = [ModelRequest(SHADED, "near", {"mean": 127}), ModelRequest(SHADED, "far", {"mean": 160})]
    run = evaluate(FRECHET, models, prompts="test-prompts", seeds=100, out=tmp_path / "run", resolver=RESOLVER)
    near, far = run.results
    assert near.n_ok == 200
    assert "jackknife (20 blocks)" in near.interval
    assert near.score < far.score
    assert run.comparisons[0].p_adjusted < 1e-6
    table = run.measurements()
    assert (table.groupby("model").size() == 21).all()


# pairs of models ----------------------------------------------------------------------------------------------


class BradleyTerry(PairMetric):
    """Log-odds strength of models from preferences in both orders, by iteration, centred at 0."""

    needs = (Need("battle", "prefer", queries=lambda s: [_ask(s[0], s[1]), _ask(s[1], s[0])]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        first, second = unit.one().all("battle")
        points = {"first": 1.0, "second": 0.0, "tie": 0.5}
        yield Row("win", (points[first.verdict] + 1 - points[second.verdict]) / 2)

    def aggregate(self, table: Any, weights: Any) -> dict[str, float]:
        names = sorted({*table["model_a"], *table["model_b"]})
        wins = np.full((len(names), len(names)), 1e-3)
        a, b = ([names.index(x) for x in table[c]] for c in ("model_a", "model_b"))
        np.add.at(wins, (a, b), weights * table["value"].to_numpy())
        np.add.at(wins, (b, a), weights * (1 - table["value"].to_numpy()))
        strength = np.ones(len(names))
        games = wins + wins.T
        for _ in range(50):
            strength = wins.sum(axis=1) / (games / (strength[:, None] + strength)).sum(axis=1)
            strength /= np.exp(np.log(strength).mean())
        return dict(zip(names, np.log(strength).tolist(), strict=True))


def _ask(a: Any, b: Any) -> Query:
    return Query((a.image, b.image), (a.prompt.text,))


BRADLEY_TERRY = MetricInfo(
    name="bradley-terry", summary="Strength.", create=BradleyTerry, measures=(Measure("win", "First wins."),)
)


@pytest.mark.long
def test_pairs_of_models_are_rated_together(tmp_path: Path) -> None:
    """Two drop rates, judged by the oracle: its rewards become preferences, and ties count half."""
    quick = {"size": 64, "spp": 2}
    models = [ModelRequest("simulator", f"drop {d}", {**quick, "drop": d}) for d in (0.1, 0.7)]
    run = evaluate(
        BRADLEY_TERRY, models, prompts="tiam-5-2", limit=10, seeds=3, judge="oracle", out=tmp_path / "run"
    )
    good, bad = run.results
    assert [good.label, bad.label] == ["drop 0.1", "drop 0.7"]
    assert "oracle" in good.judge.name
    assert good.n_ok == 30
    # the second object alone decides: p = 1/2 + (0.7 - 0.1) / 2
    expected = math.log(0.8 / 0.2) / 2
    assert good.ci[0] < expected < good.ci[1]
    assert good.score == pytest.approx(-bad.score, abs=1e-9)
    assert good.score > 0
    (comparison,) = run.comparisons
    assert comparison.diff == pytest.approx(good.score - bad.score)
    assert comparison.p_adjusted < 0.05


# the model's own likelihood -----------------------------------------------------------------------------------

SIGMA = 20.0


class Gaussian:
    """A model whose images are grey g(caption) + N(0, sigma^2) per pixel: its likelihood is known."""

    def __init__(self, setup: Any) -> None:
        pass

    @staticmethod
    def grey(caption: str) -> float:
        return float(caption.split()[-1])

    def generate(self, requests: Any) -> Iterator[Any]:
        raise AssertionError("this metric needs no generated images")

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            x = query.images[0].pixels.astype(float)
            greys = np.array([self.grey(t) for t in query.texts])
            terms = -(((x.ravel()[:, None] - greys) / SIGMA) ** 2) / 2 - math.log(SIGMA * math.sqrt(2 * math.pi))
            yield query, LikelihoodTerms({"log_p": terms.sum(axis=0)})


GAUSSIAN = SelfJudgingInfo(
    name="gaussian", summary="Grey by caption.", create=Gaussian, capabilities=frozenset({"likelihood"})
)


class Pick(Metric):
    """How often the right caption of a prompt's own image has the highest likelihood."""

    needs = (
        Need(
            "likelihood",
            "likelihood",
            source="model",
            images="prompt",
            queries=lambda s: [Query(s[0].own_images, s[0].prompt.texts)],
        ),
    )

    def measure(self, unit: Any) -> Iterator[Row]:
        log_p = unit.one().one("likelihood").terms["log_p"]
        yield Row("accuracy", float(np.argmax(log_p) == unit.prompt.answer))
        yield Row("log_p", float(log_p[unit.prompt.answer]))


PICK = MetricInfo(
    name="pick",
    summary="Picks the right caption.",
    create=Pick,
    measures=(Measure("accuracy", "Right picks.", 0, 1), Measure("log_p", "Log-likelihood of the right caption.")),
)


def test_a_models_own_likelihood_of_a_prompts_images(tmp_path: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    prompts, expected = [], []
    for i in range(30):
        pixels = np.clip(rng.normal(100, SIGMA, (4, 4, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        texts = ("grey 100", "grey 106")
        prompts.append(Prompt(str(i), texts[0], images=(str(tmp_path / f"{i}.png"),), texts=texts, answer=0))
        distance = ((pixels.astype(float) - 100) ** 2).sum() - ((pixels.astype(float) - 106) ** 2).sum()
        expected.append(distance < 0)
    source = PromptSourceInfo(name="greys", summary="Grey images.", prompts=lambda setup: prompts)
    run = evaluate(PICK, GAUSSIAN, prompts="greys", out=tmp_path / "run", resolver=StaticResolver(source), seeds=1)
    (result,) = run.results
    assert result.score == pytest.approx(np.mean(expected))
    assert 0 < result.score < 1
    assert result.judge.why == "the model itself is asked"
    first = run.measurements().query("measure == 'log_p'")["value"].iloc[0]
    x = np.asarray(Image.open(tmp_path / "0.png"), float)
    exact = -((x - 100) ** 2).sum() / (2 * SIGMA**2) - x.size * math.log(SIGMA * math.sqrt(2 * math.pi))
    assert first == pytest.approx(exact)


def test_code_that_only_answers_changes_no_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    def fingerprints(package: str, drawing: str, answering: str) -> tuple[str, str]:
        (tmp_path / package).mkdir()
        for name, code in (("__init__", ""), ("drawing", drawing), ("answering", answering)):
            (tmp_path / package / f"{name}.py").write_text(code)
        importlib.import_module(f"{package}.drawing")
        info = replace(GAUSSIAN, code=("drawing.py",), judge_code=("answering.py",))
        made = replace(settle_component(info), module=f"{package}.drawing")
        return made.fingerprint, made.judge_fingerprint

    images, answers = fingerprints("asked_1", "", "")
    assert fingerprints("asked_2", "", "") == (images, answers)
    other = fingerprints("asked_3", "", "sign = -1")
    assert other[0] == images
    assert other[1] != answers
    other = fingerprints("asked_4", "sign = -1", "")
    assert other[0] != images
    assert other[1] != answers


# several metrics on the same images ---------------------------------------------------------------------------


def test_metrics_share_images_and_a_second_run_makes_nothing(tmp_path: Path) -> None:
    made = []

    class Counting(Shaded):
        def generate(self, requests: Any) -> Iterator[Any]:
            for answer in super().generate(requests):
                made.append(1)
                yield answer

    counting = GeneratorInfo(name="counting", summary="Counts.", options=Shade, create=Counting)
    ask = {"prompts": "test-prompts", "seeds": 3, "resolver": RESOLVER}
    first = evaluate([MEAN_REWARD, SPREAD], counting, out=tmp_path / "one", **ask)
    assert len(made) == 6
    second = evaluate([MEAN_REWARD, SPREAD], counting, out=tmp_path / "two", **ask)
    evaluate(FRECHET, counting, out=tmp_path / "three", **ask)
    assert len(made) == 6
    assert second.results == first.results
    fresh = evaluate([MEAN_REWARD, SPREAD], counting, out=tmp_path / "four", fresh=True, **ask)
    assert len(made) == 12
    assert fresh.results == first.results
