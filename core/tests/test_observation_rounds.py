"""Metrics that ask in rounds: answers choose what is asked next, also in a run that was interrupted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import (
    AdaptiveMetric,
    Excluded,
    Failure,
    JudgeInfo,
    Measure,
    MetricInfo,
    Need,
    Observed,
    PromptSourceInfo,
    Query,
    Reward,
    Row,
    Unit,
)
from t2i_core.api.errors import BadOption, BrokenPlugin, NoJudge
from t2i_core.api.prompt import Prompt
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run
from t2i_core.testing import TEST_MODEL, StaticResolver

PROMPTS = PromptSourceInfo(
    name="list", summary="Six prompts.", prompts=lambda setup: [Prompt(f"p{n}", str(n)) for n in range(6)]
)


class Trail(AdaptiveMetric):
    """Asks about prompt 0, then about the prompt whose number the last answer was, until that is 0 or failed."""

    def __init__(self, setup: Any) -> None:
        super().__init__(setup)
        self.needs = (Need("next", "reward", queries=self._ask),)
        self._chosen: list[str] = []

    def _ask(self, samples: Any) -> list[Query]:
        return [samples[0].query_with_text()] if samples[0].prompt.text in self._chosen else []

    def begin_rounds(self, prompts: Any) -> None:
        self._chosen = ["0"]

    def add_round(self, observed: Iterable[Observed]) -> bool:
        answers = {each.prompt.text: each.one("next").value for each in observed}
        assert set(answers) <= set(self._chosen)
        following = answers.get(self._chosen[-1], 0.0)
        if following:
            self._chosen.append(f"{following:.0f}")
        return following > 0

    def measure(self, unit: Unit) -> Iterator[Row | Excluded]:
        answers = unit.one().all("next")
        yield Row("place", float(answers[0].value)) if answers else Excluded("not asked")


TRAIL = MetricInfo(name="trail", summary="A trail.", create=Trail, measures=(Measure("place", "The next one."),))
FOLLOWING = {"0": 3.0, "3": 1.0, "1": 4.0, "4": 0.0}


class Guide:
    """Answers with the next place. The environment says what happens, because all runs must have the same code."""

    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
        for query in queries:
            text = query.texts[0]
            if text == os.environ["STOP"]:
                raise KeyboardInterrupt
            os.environ["ASKED"] += text
            yield query, Failure("it is tired") if text == os.environ["FAIL"] else Reward(FOLLOWING[text])


def make_guide(setup: Any) -> Guide:
    return Guide()


JUDGES = [
    JudgeInfo(
        name=name,
        summary="J.",
        capabilities={"reward": frozenset()},
        create=make_guide,
        by_people=name == "people",
    )
    for name in ("guide", "other", "people")
]


def follow(out: Path, stop: str = "", fail: str = "", **more: Any) -> Run:
    """Run with a judge that is interrupted at one place, or fails at another."""
    os.environ |= {"STOP": stop, "FAIL": fail}
    resolver = StaticResolver(*JUDGES, PROMPTS)
    return evaluate(
        TRAIL, TEST_MODEL, prompts="list", seeds=1, out=out, resolver=resolver, **{"judge": "guide", **more}
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("ASKED", "STOP", "FAIL"):
        monkeypatch.setenv(name, "")


def test_answers_choose_what_is_asked_next(tmp_path: Path) -> None:
    run = follow(tmp_path / "run")
    assert os.environ["ASKED"] == "0314"
    assert run.measurements()[["prompt", "value"]].to_numpy().tolist() == [
        ["p0", 3.0],
        ["p1", 4.0],
        ["p3", 1.0],
        ["p4", 0.0],
    ]
    assert (run.results[0].n_ok, run.results[0].n_excluded) == (4, 2)


def test_an_interrupted_run_goes_on_with_the_same_rounds(tmp_path: Path) -> None:
    for stop in ("0", "3", "1", "4"):
        with pytest.raises(KeyboardInterrupt):
            follow(tmp_path / "run", stop=stop)
    found = follow(tmp_path / "run")
    assert os.environ["ASKED"] == "0314"
    again = follow(tmp_path / "other")
    assert os.environ["ASKED"] == "0314"
    assert again.measurements().equals(found.measurements())


def test_failed_queries_are_not_asked_again_in_later_rounds(tmp_path: Path) -> None:
    run = follow(tmp_path / "run", fail="1", max_failed=1.0)
    assert os.environ["ASKED"] == "031"
    assert (run.results[0].n_ok, run.results[0].n_failed, run.results[0].n_excluded) == (2, 1, 3)
    follow(tmp_path / "run")
    assert os.environ["ASKED"] == "03114"


def test_answers_about_one_model_do_not_choose_for_another(tmp_path: Path) -> None:
    models = [ModelRequest(TEST_MODEL, name) for name in ("a", "b")]
    os.environ |= {"STOP": "", "FAIL": ""}
    with pytest.raises(BadOption, match="evaluate one --model a run"):
        evaluate(TRAIL, models, prompts="list", out=tmp_path / "run", resolver=StaticResolver(*JUDGES, PROMPTS))
    assert not os.environ["ASKED"]


def test_queries_that_change_after_the_last_round_are_an_error(tmp_path: Path) -> None:
    class Forgetful(Trail):
        def add_round(self, observed: Iterable[Observed]) -> bool:
            if not (more := super().add_round(observed)):
                self._chosen = ["0"]
            return more

    forgetful = replace(TRAIL, create=Forgetful)
    os.environ |= {"STOP": "", "FAIL": ""}
    with pytest.raises(BrokenPlugin, match="must not change after the last round"):
        evaluate(
            forgetful, TEST_MODEL, prompts="list", seeds=1, out=tmp_path / "run", judge="guide",
            resolver=StaticResolver(*JUDGES, PROMPTS),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"shard": (1, 2)}, BadOption, "leave out --shard"),
        ({"judge": ["guide", "other"]}, BadOption, "name one --judge a run"),
        ({"interval": "seeds"}, BadOption, "leave out --interval seeds"),
        ({"judge": "people"}, NoJudge, "people were asked before"),
    ],
)
def test_a_run_that_cannot_go_in_rounds_is_refused(
    tmp_path: Path, more: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        follow(tmp_path / "run", **more)
    assert not os.environ["ASKED"]
