"""Weak spots and differences by level: what is called sure is rarely chance, and levels name their measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.results.result import Score
from t2i_core.statistics import wilson
from t2i_report.citation import Citation
from t2i_report.metric_results import MetricResults
from t2i_report.plots.facet_map import compare_levels
from t2i_report.words.answers import answer
from t2i_report.words.weak_spots import find_weak_spot, list_levels

from .test_headline import result, write

WORLDS = 400
LEVELS, IMAGES = 80, 10


def make_group(results: list[Any], *names: str) -> MetricResults:
    measures = tuple(SettledMeasure(name, "A share.", low=0, high=1) for name in ("share", *names))
    return MetricResults("share", tuple(results), (), measures=measures)


def score(hits: int, n: int) -> Score:
    return Score(value=hits / n, ci=list(wilson(hits, n)))


def facets(hits: Any, n: int = IMAGES) -> dict[str, Any]:
    return {"share": {"kind": {f"level {i}": score(int(k), n) for i, k in enumerate(hits)}}}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_weak_spot_is_rarely_clear_where_all_levels_are_equal(share: float) -> None:
    """33 of 400 worlds is 3 standard errors above 5 %."""
    random = np.random.default_rng(3)
    clear = 0
    for hits in random.binomial(IMAGES, share, (WORLDS, LEVELS)):
        one = result("new", share, facets=facets(hits))
        spot = find_weak_spot(make_group([one]), one)
        clear += spot is not None and spot.is_clear
    assert clear <= 33


def test_a_level_that_is_really_weak_is_found_among_many() -> None:
    random = np.random.default_rng(3)
    found = 0
    for hits in random.binomial(40, 0.8, (50, LEVELS)):
        hits[7] = random.binomial(40, 0.2)
        one = result("new", 0.8, facets=facets(hits, 40))
        spot = find_weak_spot(make_group([one]), one)
        found += spot is not None and spot.is_clear and spot.level.level == "level 7"
    assert found >= 48


def test_differences_between_equal_models_are_rarely_sure() -> None:
    """Four models, six pairs: without adjustment nearly every page has a level that is called sure."""
    random = np.random.default_rng(5)
    sure = 0
    for hits in random.binomial(IMAGES, 0.5, (100, 4, 20)):
        models = [result(f"m{i}", 0.5, facets=facets(own)) for i, own in enumerate(hits)]
        sure += any(row.is_sure for row in compare_levels(make_group(models)))
    assert sure <= 11


def test_a_large_difference_is_sure_and_stands_first() -> None:
    models = [result("a", 0.5, facets=facets([20, 38, 20], 40)), result("b", 0.5, facets=facets([22, 4, 20], 40))]
    assert [(row.level.level, row.is_sure) for row in compare_levels(make_group(models))] == [
        ("level 1", True), ("level 0", False), ("level 2", False)
    ]  # fmt: skip


def test_a_spot_that_may_be_chance_is_said_to_be() -> None:
    one = result("new", 0.5, facets=facets([3, 6, 5]))
    assert write([one]).sentences[-1] == (
        "new scores worst at kind: level 0 0.300 [0.108, 0.603] (may be chance) on share."
    )
    two = result("old", 0.5, facets=facets([2, 6, 5]))
    assert "Both score worst at kind: level 0 (may be chance) on share" in write([one, two]).sentences[-1]
    sure = result("new", 0.5, facets=facets([3, 38, 39], 40))
    lines = [answer([make_group([each])], [], Citation("t2i")).worst[0] for each in (one, sure)]
    assert [(line.level, line.is_sure) for line in lines] == [("kind: level 0", False), ("kind: level 0", True)]


def test_levels_of_another_measure_have_its_name_and_are_of_one_measure_only() -> None:
    levels = {"category": {"color": score(2, 40), "object": score(38, 40)}}
    one = result("new", 0.5, facets={"valid-answer": levels, "answer": levels})
    group = make_group([one], "valid-answer", "answer")
    assert [each.name for each in list_levels(group)] == [
        "category: color (valid-answer)", "category: object (valid-answer)"
    ]  # fmt: skip
    own = result("new", 0.5, facets={"share": levels, "answer": levels})
    assert [each.name for each in list_levels(make_group([own], "answer"))] == [
        "category: color",
        "category: object",
    ]
