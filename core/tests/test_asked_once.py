"""Every query is asked once, however its answer arrives: some judges are paid for each."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core import evaluate
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Query,
    Reward,
    Row,
)
from t2i_core.engine.sample import BLOCK
from t2i_core.testing import StaticResolver

pytestmark = pytest.mark.usefixtures("own_cache")

LAG = 7
"""Number of queries that the judge takes before it answers the first."""


class SomeAlike:
    """Draw the prompts with the numbers `alike` in one colour, every other in its own."""

    def __init__(self, alike: set[int], setup: Any) -> None:
        self.alike = alike

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            number = int(request.prompt.id)
            shade = 255 if number in self.alike else number
            yield request, Generated(np.full((8, 8, 3), (shade, 1, 1), np.uint8))


class LaggingJudge:
    """Rate the redness, with some queries always under way."""

    def __init__(self, asked: Counter[str], setup: Any) -> None:
        self.asked = asked

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        under_way: deque[Query] = deque()
        for query in queries:
            self.asked[query.images[0].digest] += 1
            under_way.append(query)
            if len(under_way) == LAG:
                yield self.answer(under_way.popleft())
        yield from map(self.answer, under_way)

    @staticmethod
    def answer(query: Query) -> tuple[Query, Reward]:
        return query, Reward(float(query.images[0].pixels[..., 0].mean()))


class Redness(Metric):
    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Any]:
        yield Row("redness", unit.one().one("reward").value)


class Totals:
    """A progress that remembers how far each task came."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[int]] = {}

    def task(self, title: str, total: int, unit: str) -> Any:
        self.tasks[title] = counts = [0, total]
        return _Task(counts)

    def note(self, text: str) -> None:
        pass


class _Task:
    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def __enter__(self) -> _Task:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, by: int = 1, failed: int = 0) -> None:
        self.counts[0] += by


@pytest.mark.long
@pytest.mark.parametrize(
    "alike",
    [
        pytest.param({0, 3}, id="in one block"),
        pytest.param({BLOCK - 1, BLOCK + 2}, id="before the answer"),
        pytest.param({BLOCK - 1, BLOCK + LAG + 2}, id="after the answer, chosen before it"),
    ],
)
@pytest.mark.parametrize("metrics", [1, 2])
def test_a_query_about_equal_images_is_asked_once(tmp_path: Path, alike: set[int], metrics: int) -> None:
    asked: Counter[str] = Counter()
    totals = Totals()
    prompts = [Prompt(str(n), f"prompt {n}") for n in range(2 * BLOCK)]
    run = evaluate(
        [
            MetricInfo(name=f"redness-{n}", summary="x", create=Redness, measures=(Measure("redness", "x"),))
            for n in range(metrics)
        ],
        GeneratorInfo(name="some-alike", summary="x", create=partial(SomeAlike, alike)),
        prompts="numbers",
        seeds=1,
        out=tmp_path / "run",
        resolver=StaticResolver(
            PromptSourceInfo(name="numbers", summary="x", prompts=lambda setup: prompts),
            JudgeInfo(
                name="lagging",
                summary="x",
                capabilities={"reward": frozenset()},
                create=partial(LaggingJudge, asked),
            ),
        ),
        progress=totals,
    )
    assert [result.n_ok for result in run.results] == [len(prompts)] * metrics
    assert asked == dict.fromkeys(asked, 1)
    assert len(asked) == len(prompts) - 1
    assert totals.tasks["reward by lagging"] == [len(asked)] * 2
