"""A need with alternatives, and the order in which a judge gets its questions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Defaults,
    Domain,
    Embedding,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    NoJudge,
    QuestionAnswer,
    Row,
    Unit,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.errors import BadOption
from t2i_core.api.judge import Query
from t2i_core.api.metric_input import ask_about_image
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing.parts import TEST_JUDGE, TEST_MODEL, TEST_PROMPTS, StaticResolver

SEEN: list[tuple[str, str]] = []


def ask(samples: Sequence[Any]) -> list[Query]:
    return [VisualQuestion(text, YES_NO).about(samples[0].image) for text in ("Is it bright?", "Is it good?")]


ASKED = Need("seen", "answer", queries=ask, question="Is it ...?", replaces=frozenset({"texts"}))


class Seen(Metric):
    """1 if the judge sees a bright image, or answers yes."""

    needs = (
        Need("seen", "embed", alternatives=(ASKED,)),
        Need("texts", "embed", images="prompt", per="run", queries=lambda samples: [Query(texts=("a dog",))]),
    )

    def measure(self, unit: Unit) -> Iterator[Row]:
        seen = unit.one().all("seen")[0]
        if isinstance(seen, QuestionAnswer):
            assert unit.shared == {}
            yield Row("seen", float(seen.choice == "yes"))
        else:
            assert isinstance(seen, Embedding)
            assert "texts" in unit.shared
            yield Row("seen", float(seen.values.mean() > 127))


class Witness:
    """Answers as the test judge, and notes the order of the queries."""

    def __init__(self) -> None:
        self._judge = TEST_JUDGE.create(None)  # type: ignore[arg-type]

    def observe(self, capability: str, queries: Any) -> Any:
        def noted() -> Iterator[Query]:
            for query in queries:
                SEEN.append(
                    (query.images[0].digest if query.images else "", query.texts[0] if query.texts else "")
                )
                yield query

        return self._judge.observe(capability, noted())


METRIC = MetricInfo(name="seen", summary="", create=Seen, measures=(Measure("seen", "", low=0, high=1),))


def judge(name: str, *capabilities: str, **more: Any) -> JudgeInfo:
    return JudgeInfo(
        name=name,
        summary="",
        capabilities={each: frozenset() for each in capabilities},
        create=lambda _: Witness(),
        **more,
    )


VECTORS, TALKER = judge("vectors", "embed"), judge("talker", "answer")
BOTH = judge("both", "embed", "answer")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    SEEN.clear()


def request(*judges: str, metrics: Sequence[MetricInfo] = (METRIC,)) -> Request:
    return Request(
        metrics=tuple(metrics),
        models=(ModelRequest(TEST_MODEL, "a"),),
        prompts=(TEST_PROMPTS.name,),
        seeds=(0, 1),
        judges=judges,
    )


def served(*judges: str, metric: MetricInfo = METRIC) -> list[tuple[str, str]]:
    """The needs of a plan, each with the capability that was chosen and its judge."""
    resolver = StaticResolver(VECTORS, TALKER, BOTH, TEST_PROMPTS)
    (job,) = make_plan(request(*judges, metrics=(metric,)), resolver).jobs
    return [(each.need.capability, each.choice.judge.name) for each in job.needs if each.choice]


@pytest.mark.parametrize(
    ("judges", "expected"),
    [
        ((), [("embed", "vectors"), ("embed", "vectors")]),
        (("talker",), [("answer", "talker")]),
        (("answer=talker",), [("answer", "talker")]),
        (("both",), [("embed", "both"), ("embed", "both")]),
        (("answer=both",), [("answer", "both")]),
        (("embed=both",), [("embed", "both"), ("embed", "both")]),
    ],
)
def test_the_first_alternative_that_a_named_judge_can_serve(judges: Any, expected: Any) -> None:
    assert served(*judges) == expected


def test_a_judge_that_the_metric_names_for_an_alternative_serves_where_the_need_has_none() -> None:
    alone = StaticResolver(TALKER, TEST_PROMPTS)
    with pytest.raises(NoJudge) as caught:
        make_plan(request(), alone)
    assert "--judge answer=NAME" in str(caught.value)
    named = replace(METRIC, defaults=Defaults(judges={"answer": "talker"}))
    (job,) = make_plan(request(metrics=(named,)), alone).jobs
    assert [each.need.capability for each in job.needs] == ["answer"]


def test_a_domain_without_a_judge_refuses_the_metrics_own_judge_and_the_alternatives() -> None:
    lacking = Domain("sketches", "", metrics={"seen": Defaults(absent={"embed": "name one with --judge"})})
    metric = replace(METRIC, defaults=Defaults(judges={"embed": "vectors", "answer": "talker"}))
    resolver = StaticResolver(VECTORS, TALKER, TEST_PROMPTS)
    drawn = ModelRequest(replace(TEST_MODEL, domain=lacking), "a")
    with pytest.raises(NoJudge, match=r"^no judge of embed for sketches; name one with --judge$"):
        make_plan(replace(request(metrics=(metric,)), models=(drawn,)), resolver)
    (job,) = make_plan(replace(request("talker", metrics=(metric,)), models=(drawn,)), resolver).jobs
    assert [each.need.capability for each in job.needs] == ["answer"]


def test_the_reason_and_the_folder_say_what_is_asked() -> None:
    resolver = StaticResolver(BOTH, TEST_PROMPTS)
    by_reward, by_answer = (make_plan(request(words), resolver) for words in ("both", "answer=both"))
    (need,) = by_answer.jobs[0].needs
    assert need.choice is not None
    assert need.choice.why.endswith('answer in place of embed: "Is it ...?"')
    assert by_reward.digest != by_answer.digest


def test_a_judge_that_only_answers_questions_is_refused_where_none_can_be_asked() -> None:
    class Classes(Metric):
        needs = (Need("class", "classify"),)

    metric = MetricInfo(name="classes", summary="", create=Classes, measures=(Measure("classes", ""),))
    with pytest.raises(NoJudge, match="without naming any classes"):
        make_plan(request("talker", metrics=(metric,)), StaticResolver(TALKER, TEST_PROMPTS))


@pytest.mark.parametrize("words", [("clip=talker",), ("talker", "clip=talker"), ("answer=talker", "clip=talker")])
def test_a_capability_that_does_not_exist_is_refused_beside_others(words: Any) -> None:
    with pytest.raises(BadOption, match="'clip' is not a capability"):
        served(*words)


@pytest.mark.parametrize(
    "other",
    [
        {"name": "another"},
        {"images": "prompt"},
        {"capability": "embed", "queries": ask_about_image},
        {"alternatives": (Need("seen", "reward"),)},
    ],
)
def test_an_alternative_must_ask_about_the_same(other: Any) -> None:
    with pytest.raises(ValueError, match="need 'seen'"):
        Need("seen", "embed", alternatives=(replace(ASKED, **other),))


def run(*metrics: MetricInfo, by: str, folder: Path, seeds: int = 3) -> Any:
    """Measure images of two prompts, judged by one of the judges."""
    return evaluate(
        metrics,
        ModelRequest(TEST_MODEL, "a"),
        prompts=TEST_PROMPTS.name,
        seeds=seeds,
        judge=by,
        out=folder,
        resolver=StaticResolver(VECTORS, TALKER, TEST_PROMPTS),
    ).results


def test_a_judge_gets_all_questions_about_an_image_in_a_row(tmp_path: Path) -> None:
    class Other(Metric):
        needs = (
            Need("seen", "answer", queries=lambda s: [VisualQuestion("Is it new?", YES_NO).about(s[0].image)]),
        )

        def measure(self, unit: Unit) -> Iterator[Row]:
            yield Row("other", float(unit.one().one("seen").choice == "yes"))

    other = MetricInfo(name="other", summary="", create=Other, measures=(Measure("other", "", low=0, high=1),))
    results = run(METRIC, other, by="talker", folder=tmp_path / "run")
    assert [result.n_ok for result in results] == [6, 6]
    images = [digest for digest, _ in SEEN]
    assert len(set(images)) == 6
    assert images == [digest for digest in dict.fromkeys(images) for _ in range(3)]
    assert {text for _, text in SEEN[:3]} == {"Is it bright?", "Is it good?", "Is it new?"}


def test_questions_that_two_metrics_share_are_asked_once(tmp_path: Path) -> None:
    results = run(METRIC, replace(METRIC, name="again"), by="talker", folder=tmp_path / "run")
    assert [result.n_ok for result in results] == [6, 6]
    assert len(SEEN) == len(set(SEEN)) == 12


def test_a_damaged_image_is_made_again_for_all_questions_about_it(tmp_path: Path) -> None:
    run(METRIC, by="vectors", folder=tmp_path / "vectors", seeds=1)
    SEEN.clear()
    for file in (tmp_path / "cache" / "images").rglob("*.png"):
        before = file.stat()
        file.chmod(0o644)
        file.write_bytes(bytes(before.st_size))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (result,) = run(METRIC, by="talker", folder=tmp_path / "talker", seeds=1)
    assert (result.n_ok, result.n_failed) == (2, 0)
    assert len(SEEN) == 4
