"""Values of images with reasons, read from runs whose metrics give several rows per image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Evidence, Measure, Metric, MetricInfo, Need, Row
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_report.pictures.evidence import find_overlays, list_titles
from t2i_report.pictures.explained_values import read_values
from t2i_report.pictures.gallery import gallery
from t2i_report.pictures.mistakes import find_mistakes
from t2i_report.pictures.only_one import split_metrics
from t2i_report.report import write_report

from plugins.report.tests.conftest import LISTED, PAINT


class Questions(Metric):
    """Three questions about each image: is it brighter than these thresholds?"""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        shade = unit.one().one("reward").value / 255
        for over in (0.0, 0.3, 0.9):
            right = shade > over
            because = f"{'dim' if over < 0.5 else 'bright'}: {right}"
            yield Row(
                "answer",
                float(right),
                {"question": f"over {over}"},
                because=because,
                evidence=(Evidence("all", box=(0, 0, 20, 20)),),
            )


ANSWER = Measure("answer", "Share of right answers.", low=0, high=1)
RESOLVER = StaticResolver(
    MetricInfo(name="asked", summary="Asked.", create=Questions, measures=(ANSWER,)), PAINT, LISTED, TEST_JUDGE
)


def evaluate_asked(folder: Path, seeds: int) -> Run:
    evaluate(
        "asked",
        [ModelRequest("paint", label, {"level": level}) for label, level in (("dark", 30), ("light", 150))],
        prompts="listed",
        seeds=seeds,
        out=folder,
        resolver=RESOLVER,
    )
    return load_finished_run(folder)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of two models: one gets one answer of three right, the other two."""
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return evaluate_asked(tmp_path / "run", 1)


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


def test_values_and_evidence_of_runs_with_different_protocols_stay_apart(run: Run, tmp_path: Path) -> None:
    more, again = evaluate_asked(tmp_path / "more", 2), evaluate_asked(tmp_path / "again", 1)
    shown = gallery([run, more], {"asked": (ANSWER,)})
    values = read_values([run, more], shown, {"asked": (ANSWER,)})
    assert [(metric.title, len(metric.values)) for metric in values] == [("asked (run)", 8), ("asked (more)", 16)]
    overlays = find_overlays([run, more], shown, 160)
    assert list_titles(overlays) == ["asked (run)", "asked (more)"]
    compared = gallery([run, more], {"asked": (ANSWER,)}, ["asked"])
    assert [metric.title for metric in read_values([run, more], compared, {"asked": (ANSWER,)})] == ["asked"]
    same = gallery([run, again], {"asked": (ANSWER,)})
    assert [metric.title for metric in read_values([run, again], same, {"asked": (ANSWER,)})] == ["asked"]
    write_report([run, more], tmp_path / "page.html", RESOLVER, 160, lambda said: None)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h3>asked (run)</h3>" in page
    assert "<h3>asked (more)</h3>" in page
