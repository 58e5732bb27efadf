"""Values of images with reasons, read from runs whose metrics give several rows per image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from t2i_core.api import Measure, Metric, MetricInfo, Need, Row
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_report.explained_values import read_values
from t2i_report.gallery import gallery
from t2i_report.mistakes import find_mistakes
from t2i_report.only_one import split_metrics

from plugins.report.tests.conftest import LISTED, PAINT


class Questions(Metric):
    """Three questions about each image: is it brighter than these thresholds?"""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        shade = unit.one().one("reward").value / 255
        for over in (0.0, 0.3, 0.9):
            right = shade > over
            because = f"{'dim' if over < 0.5 else 'bright'}: {right}"
            yield Row("answer", float(right), {"question": f"over {over}"}, because=because)


ANSWER = Measure("answer", "Share of right answers.", low=0, high=1)
RESOLVER = StaticResolver(
    MetricInfo(name="asked", summary="Asked.", create=Questions, measures=(ANSWER,)), PAINT, LISTED, TEST_JUDGE
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two models: one gets one answer of three right, the other two, for images of the first seed."""
    folder = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        evaluate(
            "asked",
            [ModelRequest("paint", label, {"level": level}) for label, level in (("dark", 30), ("light", 150))],
            prompts="listed",
            seeds=1,
            out=folder / "run",
            resolver=RESOLVER,
        )
        return load_finished_run(folder / "run")


def test_an_image_with_several_rows_is_one_value_with_the_reasons_of_the_wrong_ones(run: Run) -> None:
    shown = gallery([run], {"asked": (ANSWER,)})
    (metric,) = read_values([run], shown, {"asked": (ANSWER,)})
    assert {(each.model, round(each.value, 6), each.because) for each in metric.values} == {
        ("dark", 0.333333, "dim: False; bright: False"),
        ("light", 0.666667, "bright: False"),
    }
    counts = [(m.model, m.because, m.count, m.n) for m in find_mistakes([metric], shown, {})]
    assert ("dark", "dim: False", 4, 4) in counts
    assert all(n == 4 for *_, n in counts)


def test_pairs_of_images_with_several_rows_compare_their_means(run: Run) -> None:
    shown = gallery([run], {"asked": (ANSWER,)})
    (split,) = split_metrics(read_values([run], shown, {"asked": (ANSWER,)}), ("dark", "light"), shown, {})
    assert (split.n, split.equal) == (4, 0)
    assert [(side.model, side.count) for side in split.sides] == [("dark", 4), ("light", 0)]
