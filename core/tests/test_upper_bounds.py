"""Upper bounds: a generator of right images, named by a metric's options, measured beside the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import (
    BoundedOptions,
    Defaults,
    ExistingImagesInfo,
    Generated,
    GeneratorInfo,
    ImageRequest,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Options,
    Query,
    Reward,
    Row,
    Setup,
    T2IError,
    Unit,
)
from t2i_core.api.errors import BadOption
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.results.result import UpperBound, list_bound_labels
from t2i_core.results.verdict import describe_verdicts
from t2i_core.testing import TEST_PROMPTS, StaticResolver


class Shade(Options):
    shade: int = 255


class Painter:
    """Fills images with a shade."""

    def __init__(self, setup: Setup[Shade]) -> None:
        self.shade = setup.options.shade

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated]]:
        for request in requests:
            yield request, Generated(np.full((4, 4, 3), self.shade, np.uint8))


class MeanShade:
    def observe(self, capability: str, queries: Iterable[Query]) -> Iterator[tuple[Query, Reward]]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()))


class Brightness(Metric):
    needs = (Need("shade", "reward"),)

    def measure(self, unit: Unit) -> Iterator[Row]:
        yield Row("bounded", unit.one().one("shade").value)


BOUNDED = MetricInfo(
    name="bounded",
    summary="Mean shade.",
    options=BoundedOptions,
    create=Brightness,
    measures=(Measure("bounded", "Mean shade.", low=0, high=255),),
    defaults=Defaults(prompts="test-prompts", seeds=2),
)
PAINTER = GeneratorInfo(name="painter", summary="Paints.", options=Shade, create=Painter)
STORED = ExistingImagesInfo(
    name="stored",
    summary="Stored images.",
    options=Shade,
    create=Painter,
    prompts=lambda _: (),
    seeds=lambda _: (0,),
)
JUDGE = JudgeInfo(
    name="mean-shade", summary="Mean.", capabilities={"reward": frozenset()}, create=lambda _: MeanShade()
)
OTHER = replace(BOUNDED, name="bounded-too", measures=(Measure("bounded", "Mean shade.", low=0, high=255),))
RESOLVER = StaticResolver(TEST_PROMPTS, JUDGE, PAINTER, STORED)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))


def measure(out: Path, *models: ModelRequest, seeds: int = 2, **options: Any) -> Any:
    return evaluate(BOUNDED, models, seeds=seeds, out=out, options={"bounded": options}, resolver=RESOLVER)


def grey(shade: int, label: str | None = None) -> ModelRequest:
    return ModelRequest("painter", label or f"grey {shade}", {"shade": shade})


def test_a_metric_with_bounded_options_has_a_bound_with_other_settings(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", grey(10), grey(20), upper="painter", upper_settings={"shade": 200})
    *theirs, bound = run.results
    assert (bound.label, bound.score, bound.settings) == ("upper bound (painter)", 200, {"shade": 200})
    assert [each.upper_bound for each in theirs] == [UpperBound(model=bound.label, value=200.0, ci=bound.ci)] * 2
    assert [(each.a, each.b) for each in run.comparisons] == [("grey 10", "grey 20")]


def test_options_of_the_models_do_not_reach_the_bound(tmp_path: Path) -> None:
    options = {"bounded": {"upper": "painter"}, "painter": {"shade": 3}}
    run = evaluate(BOUNDED, "painter", out=tmp_path / "run", options=options, resolver=RESOLVER)
    assert [each.score for each in run.results] == [3, 255]


def test_a_model_that_is_its_own_bound_is_measured_once(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", grey(255), upper="painter")
    (only,) = run.results
    assert (only.label, only.upper_bound) == ("grey 255", None)
    assert len(run.measurements()) == only.n_ok


def test_a_model_that_bounds_the_others_is_compared_with_them(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", grey(10), grey(255), grey(255, "again"), upper="painter")
    assert [each.label for each in run.results] == ["grey 10", "grey 255", "again"]
    first, *others = run.results
    bound = first.upper_bound
    assert bound is not None
    assert (bound.model, bound.value, bound.named) == ("grey 255", 255, True)
    assert [each.upper_bound for each in others] == [None, None]
    assert len(run.comparisons) == 3
    assert list_bound_labels(run.results) == set()
    assert "grey 255" in " ".join(describe_verdicts(run.results, run.comparisons))


def test_existing_images_bound_under_the_seeds_that_they_have(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", grey(10), grey(20), seeds=4, upper="stored")
    first, second, bound = run.results
    assert (first.n_seeds, bound.n_seeds, bound.n_missing) == (4, 1, 0)
    assert first.upper_bound == second.upper_bound


@pytest.mark.parametrize(
    ("shades", "labels"),
    [
        ((200, 250), ["upper bound (painter)", "upper bound 2 (painter)"]),
        ((200, 200), ["upper bound (painter)"] * 2),
    ],
)
def test_metrics_share_a_bound_of_the_same_settings_only(
    shades: tuple[int, int], labels: list[str], tmp_path: Path
) -> None:
    options = {
        metric: {"upper": "painter", "upper_settings": {"shade": shade}}
        for metric, shade in zip(("bounded", "bounded-too"), shades, strict=True)
    }
    run = evaluate(
        [BOUNDED, OTHER], [grey(10), grey(20)], out=tmp_path / "run", options=options, resolver=RESOLVER
    )
    theirs = [each.upper_bound for each in run.results if each.label == "grey 20"]
    assert [bound and bound.value for bound in theirs] == list(shades)
    assert [bound and bound.model for bound in theirs] == labels
    bounds = [(each.label, each.score) for each in run.results if each.label.startswith("upper")]
    assert bounds == list(zip(labels, shades, strict=True))


def test_existing_images_under_no_seed_of_the_run_are_refused() -> None:
    request = Request(
        metrics=(BOUNDED,), models=(grey(10),), seeds=(4, 5), options={"bounded": {"upper": "stored"}}
    )
    with pytest.raises(BadOption, match=r"stored has images with seed 0, but the run has seeds 4, 5; choose"):
        make_plan(request, RESOLVER)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"upper_settings": {"shade": 1}},
            "upper_settings are options of a generator; name it with the option upper",
        ),
        ({"upper": "paintre"}, "upper bound of metric 'bounded': unknown generator 'paintre'"),
    ],
)
def test_wrong_bounds_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    request = Request(metrics=(BOUNDED,), models=(grey(10),), options={"bounded": options})
    with pytest.raises(T2IError, match=message):
        make_plan(request, RESOLVER)


@pytest.mark.parametrize("word", ["none", "null", ""])
def test_none_turns_a_bound_off(word: str) -> None:
    assert BoundedOptions(upper=word).upper is None
