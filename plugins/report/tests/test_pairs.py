"""Metrics that compare two models' images: who was better than whom, with both pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Evidence, Measure, MetricInfo, Need, PairMetric, Query, Row
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run, load_finished_run
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_report.pictures.evidence import find_overlays
from t2i_report.pictures.gallery import gallery
from t2i_report.pictures.mistakes import group_mistakes
from t2i_report.pictures.pairs import find_pair_mistakes
from t2i_report.report import write_report

from plugins.report.tests.conftest import LISTED, PAINT


class Duel(PairMetric):
    """The second model always wins, in both orders, except for seed 1."""

    needs = (
        Need(
            "preferred",
            "prefer",
            queries=lambda pair: [Query(tuple(s.image for s in pair), (pair[0].prompt.text,))],
        ),
    )

    def __init__(self, setup: Any) -> None:
        pass

    def measure(self, unit: Any) -> Iterator[Row]:
        loser, winner = unit.models
        if unit.seed == 1:
            yield Row("win", 0.5)
            return
        labels = {loser: f"worse than {winner} <b>", winner: f"better than {loser}"}
        shown = [Evidence(label, model=model) for model, label in labels.items()]
        for order in ("first", "second"):
            yield Row("win", 0.0, {"shown": order}, f"{winner} better than {loser}", shown)


WIN = Measure("win", "Points of model_a.", 0, 1, higher_is_better=None)
RESOLVER = StaticResolver(
    MetricInfo(name="duel", summary="Duel.", create=Duel, measures=(WIN,)), PAINT, LISTED, TEST_JUDGE
)


def evaluate_duel(folder: Path) -> Run:
    models = [ModelRequest("paint", label, {"level": level}) for label, level in (("dark", 30), ("light", 150))]
    evaluate("duel", models, prompts="listed", seeds=2, out=folder, resolver=RESOLVER)
    return load_finished_run(folder)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    return [evaluate_duel(tmp_path / "run"), evaluate_duel(tmp_path / "again")]


@pytest.mark.parametrize("n_runs", [1, 2])
def test_pairs_are_counted_by_who_won_and_shown_side_by_side(runs: list[Run], n_runs: int) -> None:
    shown = gallery(runs[:n_runs], {"duel": (WIN,)})
    (found,) = find_pair_mistakes(runs[:n_runs], shown)
    assert (found.metric, found.measure, found.model) == ("duel", "win", "dark and light")
    assert (found.because, found.count, found.n) == ("light better than dark", 8, 12)
    assert len(found.examples) == 4
    for example in found.examples:
        assert example.right is not None
        assert (example.image.model, example.right.image.model) == ("dark", "light")
        assert example.image.prompt == example.right.image.prompt
    assert [each.because for each in group_mistakes([found])["duel"]] == ["light better than dark"]


def test_labels_of_whole_images_are_written_over_them(runs: list[Run], tmp_path: Path) -> None:
    shown = gallery(runs[:1], {"duel": (WIN,)})
    overlays = find_overlays(runs[:1], shown, 160)
    place = next(n for n, each in enumerate(shown.images) if (each.model, each.seed) == ("dark", 0))
    drawn = overlays["duel", place].draw()
    assert '<span class="about"><span>worse than light &lt;b&gt;</span></span>' in drawn
    assert 'aria-label="Marked: worse than light &lt;b&gt;"' in drawn
    write_report(runs[:1], tmp_path / "page.html", RESOLVER, 160, lambda said: None)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<th scope="row">dark and light</th>' in page
    assert "worse than light <b>" not in page
