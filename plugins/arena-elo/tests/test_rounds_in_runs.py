"""Runs of elo in rounds: interrupted runs draw the same battles, and what cannot go in rounds is refused."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest
from t2i_arena_elo.plugin import t2i_metrics
from t2i_arena_elo.propensities import FLOOR
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Options,
    Preference,
    PromptSourceInfo,
)
from t2i_core.api.errors import BadOption, NoJudge
from t2i_core.api.prompt import Prompt
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import StaticResolver

(ELO, _) = t2i_metrics()
PROMPTS = PromptSourceInfo(
    name="list", summary="Texts.", prompts=lambda setup: [Prompt(f"p{n}", f"text {n}") for n in range(60)]
)


class Shade(Options):
    """Options of the model."""

    grey: int = 100


class Shaded:
    def __init__(self, setup):
        self.grey = setup.options.grey

    def generate(self, requests):
        for request in requests:
            rng = np.random.default_rng([request.seed, self.grey, *request.prompt.text.encode()])
            yield request, Generated(rng.integers(self.grey - 9, self.grey + 9, (8, 8, 3)).astype(np.uint8))


class Critic:
    """Prefers the brighter image, but for a share of the prompts; it may be interrupted."""

    def observe(self, capability, queries):
        for query in queries:
            if int(os.environ["ASKED"]) == int(os.environ["MOST"]):
                raise KeyboardInterrupt
            os.environ["ASKED"] = str(int(os.environ["ASKED"]) + 1)
            key = "".join(sorted(image.digest for image in query.images))
            brighter = query.images[0].pixels.mean() > query.images[1].pixels.mean()
            wrong = hashlib.sha256(key.encode()).digest()[0] < 25
            yield query, Preference("first" if brighter != wrong else "second")


def make_critic(setup):
    return Critic()


MODEL = GeneratorInfo(name="shaded", summary="Grey.", options=Shade, create=Shaded)
JUDGES = [
    JudgeInfo(
        name=name,
        summary="J.",
        capabilities={"prefer": frozenset()},
        create=make_critic,
        by_people=name == "people",
    )
    for name in ("critic", "people")
]
MODELS = [ModelRequest(MODEL, f"m{grey}", {"grey": grey}) for grey in (100, 130, 160, 240)]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASKED", "0")
    monkeypatch.setenv("MOST", "-1")


def run(out, judge="critic", interval="new", **options):
    return evaluate(
        ELO, MODELS, prompts="list", options={"elo": options}, out=out, judge=judge, interval=interval,
        resolver=StaticResolver(*JUDGES, PROMPTS),
    )  # fmt: skip


@pytest.mark.long
def test_an_interrupted_run_draws_the_same_battles(monkeypatch):
    options = {"active": True, "share": 0.3, "rounds": 4}
    for most in (10, 60, 100):
        monkeypatch.setenv("MOST", str(most))
        with pytest.raises(KeyboardInterrupt):
            run("run", **options)
    monkeypatch.setenv("MOST", "-1")
    found = run("run", **options)
    asked = int(os.environ["ASKED"])
    table = found.measurements()
    assert len(table) == asked  # each question once, however often the run was interrupted
    monkeypatch.setenv("T2I_CACHE_DIR", "other-cache")
    assert run("other", **options).measurements().equals(table)
    table = table.astype({"look": float, "propensity": float})
    chances = table.groupby(["look", "model_a", "model_b"], observed=True)["propensity"].unique()
    assert (chances.str.len() == 1).all()
    assert sorted(table["look"].unique()) == [0.25, 0.5, 0.75, 1.0]
    assert set(table.loc[table["look"] == 0.25, "propensity"]) == {0.3}
    assert table.loc[table["look"] > 0.25, "propensity"].between(0.3 * FLOOR, 1).all()
    assert table.loc[table["look"] > 0.25, "propensity"].nunique() > 3
    notes = found.results[0].notes
    assert any("drawn in 4 rounds of prompts" in note for note in notes)
    assert found.results[0].ci[0] < found.results[0].score < found.results[0].ci[1]


@pytest.mark.long
def test_battles_end_when_the_best_is_sure():
    found = run("run", until="best", rounds=4, both_orders=False)
    table = found.measurements()
    assert table["look"].astype(float).max() < 1
    assert any("m240 is surely the best" in note for note in found.results[0].notes)
    assert "the battles had ended before this prompt's round" in set(found.failures()["reason"])
    against = [each for each in found.comparisons if "m240" in (each.a, each.b)]
    assert all(each.ci[0] > 0 or each.ci[1] < 0 for each in against)


@pytest.mark.long
def test_a_dry_run_expects_as_many_questions_as_the_share_asks():
    request = Request(
        metrics=(ELO,), models=tuple(MODELS), prompts=("list",), judges=("critic",),
        options={"elo": {"active": True, "share": 0.3}},
    )  # fmt: skip
    plan = make_plan(request, StaticResolver(*JUDGES, PROMPTS), dry=True)
    expected = forecast_plan(plan)["observations"]["to_make"]
    assert expected == pytest.approx(0.3 * 6 * 60 * 2, rel=0.15)


def test_a_study_of_people_cannot_be_drawn_from():
    with pytest.raises(NoJudge, match="people were asked before"):
        run("run", judge="people", until="ranks")


def test_intervals_for_the_same_prompts_are_refused():
    with pytest.raises(BadOption, match="leave out --interval seeds"):
        run("run", interval="seeds", until="best")
