"""Several judges of one metric in a run: each gives its own results, and the run says how far they agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from t2i_core import ModelRequest, Run, evaluate, load_run
from t2i_core.api import JudgeInfo, Measure, Metric, MetricInfo, Need, PairMetric, Query, Row, TableMetric
from t2i_core.api.capabilities.features import Features
from t2i_core.api.capabilities.reward import Reward
from t2i_core.api.errors import BadOption, NoJudge
from t2i_core.engine.dry_run import forecast_plan
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import Request
from t2i_core.testing import TEST_MODEL, TEST_PROMPTS, StaticResolver

Measured = dict[tuple[str, str], float]


def describe_judge(name: str, share: float, *capabilities: str) -> JudgeInfo:
    """Describe a judge whose answers are a share of the brightness, so that judges differ by a factor."""

    class Judge:
        def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Any]]:
            for query in queries:
                value = share * float(query.images[0].pixels.mean())
                yield query, Reward(value) if capability == "reward" else Features(np.array([value], np.float32))

    offered = {each: frozenset[str]() for each in capabilities or ("reward",)}
    return JudgeInfo(name=name, summary="J.", create=lambda setup: Judge(), capabilities=offered)


class Brightness(Metric):
    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", unit.one().one("reward").value)


class Bright(Brightness):
    """1 if the answer is above 60: the half of the brightness rarely is."""

    def measure(self, unit: Any) -> Any:
        bright = unit.one().one("reward").value > 60
        yield Row("brightness", float(bright), {"kind": "bright" if bright else "dark"})


class Both(Metric):
    needs = (Need("reward", "reward"), Need("features", "features"))

    def measure(self, unit: Any) -> Any:
        yield Row("brightness", unit.one().one("reward").value - float(unit.one().one("features").values[0]))


class Brighter(PairMetric):
    needs = (Need("reward", "reward", queries=lambda pair: [each.query_with_text() for each in pair]),)

    def measure(self, unit: Any) -> Any:
        first, second = unit.one().all("reward")
        yield Row("brightness", float(first.value > second.value))


def describe_metric(cls: type[Metric]) -> MetricInfo:
    return MetricInfo(name="metric", summary="M.", create=cls, measures=(Measure("brightness", "x"),))


WHOLE, HALF = describe_judge("whole", 1.0), describe_judge("half", 0.5)
EVERYTHING = describe_judge("everything", 0.25, "reward", "features")
FEATURES = describe_judge("features", 2.0, "features")
RESOLVER = StaticResolver(WHOLE, HALF, EVERYTHING, FEATURES, TEST_PROMPTS)


pytestmark = pytest.mark.usefixtures("own_cache")


def run_with(cls: type[Metric], *judges: str, labels: str = "ab") -> Run:
    models = [ModelRequest(TEST_MODEL, label) for label in labels]
    return evaluate(
        describe_metric(cls),
        models,
        prompts=TEST_PROMPTS.name,
        seeds=5,
        judge=judges,
        out="-".join(judges) or "run",
        resolver=RESOLVER,
    )


def test_each_judge_gives_the_results_that_it_gives_alone() -> None:
    both = run_with(Brightness, "whole", "half")
    assert [(r.by, r.label, r.judge and r.judge.name) for r in both.results] == [
        ("whole", "a", "whole"),
        ("whole", "b", "whole"),
        ("half", "a", "half"),
        ("half", "b", "half"),
    ]
    assert {r.title for r in both.results} == {"metric by whole", "metric by half"}
    for judge in ("whole", "half"):
        alone = run_with(Brightness, judge)
        own = [r.model_copy(update={"by": None}) for r in both.results if r.by == judge]
        assert own == alone.results
        assert all(r.by is None for r in alone.results)
        assert "by" not in alone.to_json()["results"][0]
        assert alone.agreements == []
    again = load_run(both.folder)
    assert again.results == both.results
    assert again.agreements == both.agreements


def test_comparisons_and_holm_stay_within_one_judge() -> None:
    run = run_with(Brightness, "whole", "half", labels="abc")
    alone = run_with(Brightness, "half", labels="abc")
    assert [(c.by, c.a + c.b) for c in run.comparisons[:3]] == [("whole", pair) for pair in ("ab", "ac", "bc")]
    assert [c.model_copy(update={"by": None}) for c in run.comparisons if c.by == "half"] == alone.comparisons


def test_the_tables_tell_the_judges_apart() -> None:
    table = run_with(Brightness, "whole", "half").measurements()
    values = table.set_index(["by", "model", "prompt", "seed"])["value"]
    assert len(values) == 2 * 2 * 2 * 5
    np.testing.assert_allclose(values["whole"], 2 * values["half"])
    assert "by" not in run_with(Brightness, "whole").measurements()


def test_judges_of_numbers_are_compared_by_rank_and_of_decisions_by_kappa() -> None:
    (ranks,) = run_with(Brightness, "whole", "half").agreements
    assert (ranks.metric, ranks.a, ranks.b, ranks.measure) == ("metric", "whole", "half", "brightness")
    # of the means of two prompts, of which no rank correlation is told
    assert (ranks.coefficient, ranks.value, ranks.n, ranks.equal) == ("rho", None, 2, None)
    run = run_with(Bright, "whole", "everything")
    (decisions,) = run.agreements
    table = run.measurements().pivot(index=["model", "prompt", "seed"], columns="by", values="value")
    assert (decisions.coefficient, decisions.n) == ("kappa", 20)  # also where a facet follows the answer
    assert decisions.equal == (table["whole"] == table["everything"]).mean()
    assert [(a.a, a.b) for a in run_with(Brightness, "whole", "half", "everything").agreements] == [
        ("whole", "half"),
        ("whole", "everything"),
        ("half", "everything"),
    ]


class Shares(Metric):
    """A metric whose headline is computed from the values of two facets."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        value = float(unit.one().one("reward").value > 60)
        yield Row("share", value, {"kind": "bright"})
        yield Row("share", 1 - value, {"kind": "dark"})


class Spread(TableMetric, Shares):
    aggregates = frozenset({"spread"})

    def aggregate(self, table: Any, weights: Any) -> Any:
        return {"spread": float(np.average(table["value"], weights=weights))}


def test_without_values_of_the_headline_the_first_measured_values_are_compared_facet_by_facet() -> None:
    measures = (Measure("spread", "x"), Measure("share", "x", facets=("kind",)))
    metric = MetricInfo(name="metric", summary="M.", create=Spread, measures=measures)
    run = evaluate(
        metric,
        TEST_MODEL,
        prompts=TEST_PROMPTS.name,
        seeds=5,
        judge=("whole", "half"),
        out="run",
        resolver=RESOLVER,
    )
    (agreement,) = run.agreements
    assert (agreement.measure, agreement.n, agreement.coefficient) == ("share", 2 * 5 * 2, "kappa")
    rows = run.measurements()
    wide = rows.pivot(index=["prompt", "seed", "kind"], columns="by", values="value")
    assert agreement.equal == (wide["whole"] == wide["half"]).mean()


def test_agreement_of_judges_leaves_out_images_of_the_upper_bound() -> None:
    bound = replace(TEST_MODEL, name="bound")
    resolver = StaticResolver(WHOLE, HALF, TEST_PROMPTS, bound)
    more: dict[str, Any] = {"prompts": TEST_PROMPTS.name, "seeds": 5, "judge": ("whole", "half")}
    plain = evaluate(describe_metric(Bright), TEST_MODEL, out="plain", resolver=resolver, **more)

    class BoundedBright(Bright):
        upper_bound = "bound"

    run = evaluate(describe_metric(BoundedBright), TEST_MODEL, out="bounded", resolver=resolver, **more)
    assert len(run.results) == 4
    assert [a.n for a in run.agreements] == [a.n for a in plain.agreements] == [10]


def test_judges_of_different_needs_judge_together() -> None:
    run = run_with(Both, "whole", "features")
    assert {(r.by, tuple(j.name for j in r.judges)) for r in run.results} == {(None, ("whole", "features"))}
    run = run_with(Both, "whole", "everything")
    assert [(r.by, [j.name for j in r.judges]) for r in run.results[::2]] == [
        ("whole + everything", ["whole", "everything"]),
        ("everything", ["everything", "everything"]),
    ]


def test_a_judge_named_with_the_capability_has_priority() -> None:
    run = run_with(Both, "reward=whole", "everything")
    assert {(r.by, tuple(j.name for j in r.judges)) for r in run.results} == {(None, ("whole", "everything"))}
    run = run_with(Brightness, "reward=whole", "reward=half")
    assert {r.by for r in run.results} == {"whole", "half"}
    assert len(run_with(Brightness, "whole", "reward=whole").results) == 2


def test_metrics_of_pairs_have_several_judges_too() -> None:
    run = run_with(Brighter, "whole", "half")
    assert [(r.by, r.label) for r in run.results] == [(by, label) for by in ("whole", "half") for label in "ab"]
    (agreement,) = run.agreements
    assert (agreement.coefficient, agreement.equal, agreement.n) == ("kappa", 1.0, 10)


def test_the_plan_names_each_judge_and_asks_each_once() -> None:
    request = Request(
        metrics=describe_metric(Brightness), models=TEST_MODEL, prompts=TEST_PROMPTS.name, judges=("whole", "half")
    )
    plan = forecast_plan(make_plan(request, RESOLVER))
    assert [job["judges"][0]["name"] for job in plan["jobs"]] == ["whole", "half"]
    assert (plan["images"]["to_make"], plan["observations"]["to_make"]) == (2, 4)
    with pytest.raises(NoJudge, match="features"):
        make_plan(
            Request(metrics=describe_metric(Brightness), models=TEST_MODEL, judges=("whole", "features")), RESOLVER
        )


def test_an_unknown_capability_is_refused_beside_a_judge_that_serves() -> None:
    with pytest.raises(BadOption, match="'rewrd' is not a capability"):
        run_with(Brightness, "whole", "rewrd=half")
