"""Two judges of the mini world in one run: what every reader of runs makes of their results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_core import Run, evaluate
from t2i_report.pictures.gallery import gallery
from typer.testing import CliRunner

pytestmark = pytest.mark.long

JUDGES = ("oracle", "mini-segmenter")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("judges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2I_CACHE_DIR", str(folder / "cache"))
        return evaluate(
            "tiam",
            "simulator",
            prompts="tiam-5-2",
            limit=10,
            seeds=2,
            judge=JUDGES,
            options={"simulator": {"drop": 0.3}},
            out=folder / "run",
        )


def test_the_judges_agree_on_whole_scenes(run: Run) -> None:
    assert [result.by for result in run.results] == list(JUDGES)
    assert [result.judge and result.judge.name for result in run.results] == list(JUDGES)
    (agreement,) = run.agreements
    assert (agreement.a, agreement.b, agreement.coefficient, agreement.n) == (*JUDGES, "kappa", 20)
    assert agreement.equal is not None
    assert agreement.equal >= 0.9


def test_every_reader_tells_the_judges_apart(run: Run) -> None:
    t2i = CliRunner().invoke
    folder = str(run.folder)
    report = run.folder.parent / "report.html"
    assert t2i(app, ["report", folder, "--out", str(report)]).exit_code == 0
    text = report.read_text(encoding="utf-8")
    shown = t2i(app, ["runs", "show", folder]).stdout
    analysed = t2i(app, ["analyze", folder]).stdout
    for judge in JUDGES:
        for found in (text, shown, analysed):
            assert f"tiam by {judge}" in found
    for found in (text, shown):
        assert "greement of judges" in found


def test_the_gallery_has_a_column_for_each_judge(run: Run) -> None:
    titles = {column.title for column in gallery([run], {}).columns}
    assert {f"tiam by {judge} tiam" for judge in JUDGES} <= titles
    assert not titles & {"tiam", "tiam found"}


def test_two_runs_are_compared_judge_by_judge(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(run.folder.parent / "cache"))
    whole = evaluate(
        "tiam", "simulator", prompts="tiam-5-2", limit=10, seeds=2, judge="oracle", out=tmp_path / "whole"
    )
    table = tmp_path / "differences.json"
    words = ["compare", str(run.folder), str(whole.folder), "--format", "json", "--out", str(table)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(table.read_text())
    assert found["metric"] == "tiam by oracle"
    scores = [result.score for each in (run, whole) for result in each.results if result.by in (None, "oracle")]
    assert scores[0] is not None
    assert scores[1] is not None
    assert found["diff"] == pytest.approx(scores[0] - scores[1])


def test_questions_in_place_of_segments_give_the_same_score_of_scenes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(run.folder.parent / "cache"))
    asked = evaluate(
        "tiam",
        "simulator",
        prompts="tiam-5-2",
        limit=10,
        seeds=2,
        judge=["segment=oracle", "answer=oracle"],
        options={"simulator": {"drop": 0.3}},
        out=tmp_path / "asked",
    )
    by_segments, by_answers = asked.results
    assert [by_segments.by, by_answers.by] == ["oracle (segment)", "oracle (answer)"]
    assert by_segments.scores == by_answers.scores
    assert 0 < (by_segments.score or 0) < 1
    assert [agreement.equal for agreement in asked.agreements] == [1.0]
