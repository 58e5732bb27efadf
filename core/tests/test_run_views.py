"""What a run shows in a notebook: its tables, its scores as a table of pandas, and a chart."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from t2i_core.api.errors import BadFolder, BadOption, MissingDependency
from t2i_core.results import chart
from t2i_core.results.chart import MIME_TYPE, Chart
from t2i_core.results.result import Comparison, JudgeOfNeed, Result, Score
from t2i_core.results.run import Run
from t2i_core.results.scores import COLUMNS, draw_scores, make_score_table


def make_result(model: str, score: float | None, metric: str = "tiam", judge: str = "oracle") -> Result:
    ci = None if score is None else [score - 0.1, score + 0.1]
    judges = [JudgeOfNeed(name=judge, why="named", need=need) for need in ("objects", "colours")]
    return Result.model_validate(
        {
            "metric": metric, "model": model, "as": model, "settings": {},
            "judge": judges[0].model_dump(exclude={"need"}), "judges": [each.model_dump() for each in judges],
            "prompts": "in-memory", "score": score, "ci": ci, "interval": "two-way t",
            "n_prompts": 2, "n_prompts_ok": 2, "n_seeds": 3,
            "n_ok": 6, "n_failed": 0, "n_missing": 0, "n_excluded": 0,
            "scores": {
                metric: Score(value=score, ci=ci or [None, None]),
                "found": Score(value=0.5, ci=[0.25, 0.75]),
            },
            "facets": {},
        }
    )  # fmt: skip


RESULTS = [make_result("<b>mini", 0.25), make_result("sd", None), make_result("sd", 5, "fid")]


def test_scores_are_a_table_with_a_row_for_each_score() -> None:
    table = make_score_table(RESULTS)
    assert tuple(table.columns) == COLUMNS
    assert list(table["model"]) == ["<b>mini"] * 2 + ["sd"] * 4
    assert list(table["name"]) == ["tiam", "found", "tiam", "found", "fid", "found"]
    assert table["value"].fillna(-1).tolist() == [0.25, 0.5, -1, 0.5, 5, 0.5]
    assert table.loc[0, ["lo", "hi"]].tolist() == pytest.approx([0.15, 0.35])
    assert set(table["judge"]) == {"oracle"}
    assert (table["value"].dtype, len(make_score_table([]))) == (np.float64, 0)


def make_run(tmp_path: Path, **more: Any) -> Run:
    difference = Comparison(
        metric="tiam", a="<b>mini", b="sd", diff=-0.5, ci=[-1, 0],
        p_adjusted=0.25, p_unadjusted=0.125, n=6, interval="t",
    )  # fmt: skip
    manifest: Any = SimpleNamespace(results=RESULTS, comparisons=[difference], agreements=[], stopping=None)
    return Run(tmp_path / "run", manifest, **more)


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", set[str]()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_shows_its_tables_and_no_markup_of_others(tmp_path: Path) -> None:
    shown = Text()
    shown.feed(make_run(tmp_path, failed="half of the samples failed")._repr_html_())
    assert "b" not in shown.tags
    for text in ("<b>mini", "0.250", "[0.150, 0.350]", "paired comparisons", "half of the samples failed", "run"):
        assert text in shown.text


def test_the_chart_has_a_panel_for_each_metric_and_a_point_for_each_score(tmp_path: Path) -> None:
    spec = make_run(tmp_path).plot().spec
    keys = ("facet", "label", "value", "low", "high")
    assert [tuple(row[key] for key in keys) for row in spec["data"]["values"]] == [
        ("tiam", "<b>mini", 0.25, 0.15, 0.35),
        ("fid", "sd", 5, 4.9, 5.1),
    ]
    assert spec["facet"]["field"] == "facet"
    one = [make_result("mini", 0.5)]
    assert "field" not in draw_scores(one).spec["layer"][-1]["encoding"]["color"]
    two = [*one, make_result("mini", 0.75, judge="mini-segmenter")]
    assert draw_scores(two).spec["layer"][-1]["encoding"]["color"]["scale"]["domain"] == [
        "oracle",
        "mini-segmenter",
    ]


def test_a_chart_is_written_as_a_picture_a_page_and_data(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    drawn = draw_scores(RESULTS)
    assert json.loads(drawn.save(tmp_path / "a.json").read_text()) == drawn.spec
    svg = drawn.save(tmp_path / "a.svg").read_text()
    assert "&lt;b&gt;mini" in svg
    assert "score with 95 % interval" in svg
    assert drawn.save(tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG")
    page = Text()
    page.feed(
        Chart({**drawn.spec, "title": "</svg><script>alert(1)</script>"}).save(tmp_path / "a.html").read_text()
    )
    assert "<script>" in page.text
    assert "script" not in page.tags  # nothing is fetched, and no text of a run becomes markup
    bundle = drawn._repr_mimebundle_()
    assert bundle[MIME_TYPE] == drawn.spec
    assert bundle["image/svg+xml"].startswith("<svg")
    with pytest.raises(BadOption):
        drawn.save(tmp_path / "a.gif")


def test_without_the_converter_the_chart_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chart, "find_spec", lambda name: None)
    drawn = Chart({"data": {"values": []}})
    assert drawn.save(tmp_path / "a.json").exists()
    with pytest.raises(MissingDependency, match="pip install"):
        drawn.save(tmp_path / "a.svg")
    bundle = drawn._repr_mimebundle_()
    assert bundle.keys() == {MIME_TYPE, "text/plain"}
    assert "pip install" in bundle["text/plain"]


def test_reading_a_run_imports_nothing_that_draws() -> None:
    code = "import t2i_core.results.run, sys; print({'rich', 'pandas', 'vl_convert'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_chart_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadFolder, match=r"cannot be written"):
        Chart({"data": {"values": []}}).save(tmp_path / "none" / "a.json")
