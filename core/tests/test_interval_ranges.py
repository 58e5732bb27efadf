"""No interval leaves the range of its measure, for a metric of any shape and values of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from t2i_core import ModelRequest, evaluate
from t2i_core.api import (
    GeneratorInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    PairMetric,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Row,
    Rows,
    SetMetric,
    StackedMetric,
    TableMetric,
)
from t2i_core.testing import TEST_JUDGE, TEST_MODEL, StaticResolver

LOW, HIGH = -1.0, 2.0
Value = Callable[[int], float]


class _Valued(Metric):
    """Base of the metrics: `value` gives a value in the range for the n-th call."""

    needs = (Need("features", "features"),)
    value: ClassVar[Value]

    def next(self) -> float:
        self.count = getattr(self, "count", -1) + 1
        return type(self).value(self.count)


class OfSamples(_Valued):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", self.next())


class OfPrompts(_Valued, PromptMetric):
    def measure(self, unit: Any) -> Iterator[Rows]:
        yield Rows("value", [self.next() for _ in unit.seeds])


class Stacked(_Valued, StackedMetric):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", self.next())


class OfSets(_Valued, SetMetric):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", self.next())


class OfPairs(_Valued, PairMetric):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", self.next())

    def aggregate(self, table: pd.DataFrame, weights: Any) -> Mapping[str, float]:
        mean = float(np.average(table["value"], weights=weights))
        return {"a": mean, "b": LOW + HIGH - mean}


class OfTables(_Valued, TableMetric):
    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("value", self.next())

    def aggregate(self, table: pd.DataFrame, weights: Any) -> Mapping[str, float]:
        return {"value": float(np.average(table["value"], weights=weights))}


SHAPES = (OfSamples, OfPrompts, Stacked, OfSets, OfPairs, OfTables)
VALUES = st.lists(st.sampled_from([LOW, HIGH, 0.0, 1.9, -0.99, 1.0]), min_size=1, max_size=7)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=VALUES, prompts=st.integers(1, 4), seeds=st.integers(1, 3))
def test_no_interval_leaves_the_range_of_its_measure(
    shape: type[_Valued], values: list[float], prompts: int, seeds: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("range")
    metric = type("Shaped", (shape,), {"value": staticmethod(lambda count: values[count * count % len(values)])})
    info = MetricInfo(name="shaped", summary="S.", create=metric, measures=(Measure("value", "V.", LOW, HIGH),))
    source = PromptSourceInfo(
        name="some", summary="S.", prompts=lambda _: [Prompt(str(n), f"a cat {n}") for n in range(prompts)]
    )
    models: list[str | GeneratorInfo | ModelRequest] = [ModelRequest(TEST_MODEL, label) for label in "ab"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        run = evaluate(
            info,
            models,
            prompts="some",
            seeds=seeds,
            out=folder / "run",
            resolver=StaticResolver(TEST_JUDGE, source),
        )
    for result in run.results:
        for score in result.scores.values():
            _assert_inside(score.value, score.ci, LOW, HIGH)
    for comparison in run.comparisons:
        _assert_inside(comparison.diff, comparison.ci, LOW - HIGH, HIGH - LOW)


def _assert_inside(value: float | None, ci: Any, low: float, high: float) -> None:
    if value is None or ci is None or ci[0] is None:
        return
    assert low - 1e-9 <= ci[0] <= value + 1e-9
    assert value - 1e-9 <= ci[1] <= high + 1e-9
