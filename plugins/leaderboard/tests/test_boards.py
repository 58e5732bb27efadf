"""Boards: what is on them, in which order and how sure that is, and what is left out with which reason."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from t2i_core.results.run import load_run
from t2i_core.results.signature_line import describe_difference
from t2i_core.statistics import holm
from t2i_core.testing import TEST_JUDGE, StaticResolver
from t2i_leaderboard.conditions import read_conditions

from plugins.leaderboard.tests.conftest import BRIGHT, DARK, PARTS, Write, paint_run

LINE = "metric:m|version:1|t2i-m:0.1.0|seeds:9|prompts:words(8)#aa|judge:mean#bb|seeds:0-2|interval:new|t2i:1"


def test_conditions_of_a_line_tell_settings_from_samples() -> None:
    found = read_conditions(LINE, "t2i-m", same_samples=False)
    assert found.samples == (("prompts", "words(8)#aa"), ("seeds", "0-2"))
    assert ("seeds", "9") in found.settings  # an option of this name
    assert ("prompts", "words") in found.settings
    assert not {"t2i", "t2i-m"} & {key for key, _ in found.settings}
    whole = read_conditions(LINE, "t2i-m", same_samples=True)
    assert whole.samples == ()
    assert {("prompts", "words(8)#aa"), ("seeds", "0-2")} < set(whole.settings)


def test_the_difference_of_two_lines_names_its_parts() -> None:
    a, b = (read_conditions(LINE.replace("mean#bb", judge), "t2i-m", False).settings for judge in ("x#1", "y#2"))
    assert describe_difference(a, b) == "judge x#1, not y#2"
    assert describe_difference((*a, ("over", "0.5")), a) == "over 0.5, which the others leave at its default"
    assert describe_difference(a, (*a, ("over", "0.5"))) == "over not set, not 0.5"


@pytest.mark.long
def test_models_of_eight_runs_are_ranked_with_intervals(eight: list[Path], write: Write) -> None:
    site = write(*eight)
    assert site.code == 0, site.said
    assert "16 scores on 2 boards" in site.said
    assert site.names("bright") == [f"model {n}" for n in reversed(range(8))]
    assert site.names("dark") == site.names("bright")  # a lower one is better
    board = site.board("bright")
    p_values = [each["p_unadjusted"] for each in board["comparisons"]]
    assert len(p_values) == 28
    assert [each["p_adjusted"] for each in board["comparisons"]] == pytest.approx(list(holm(p_values)))
    stored = {load_run(run).results[0].label: load_run(run).results[0] for run in eight}
    for row in board["rows"]:
        better = sum(_beats(each, row["model"]) for each in board["comparisons"])
        assert row["rank_first"] == 1 + better
        assert (row["score"], row["ci"]) == (stored[row["model"]].score, stored[row["model"]].ci)
        assert (row["compared"], row["marks"]) == (7, [])
    assert board["rows"][0]["rank_last"] < 8
    table = list(csv.DictReader((site.folder / "leaderboard.csv").open(encoding="utf-8")))
    assert [row["model"] for row in table[:8]] == site.names("bright")
    assert float(table[0]["low"]) == board["rows"][0]["ci"][0]
    metric = (site.folder / "metric-bright.html").read_text(encoding="utf-8")
    assert "(Holm); the intervals are not" in metric
    assert "A wide range, such as 1-7, means" in metric
    pages = {path.name for path in site.folder.iterdir()}
    assert {"index.html", "metric-bright.html", "metric-dark.html", "model-model-3.html", "README.md"} < pages


def _beats(comparison: dict[str, Any], name: str) -> bool:
    """Return whether the other model is surely better than this one."""
    if name not in (comparison["a"], comparison["b"]) or comparison["p_adjusted"] >= 0.05:
        return False
    return bool((comparison["diff"] > 0) == (comparison["b"] == name))


@pytest.mark.long
def test_another_version_judge_or_setting_is_left_out_with_its_command(tmp_path: Path, write: Write) -> None:
    first, second = (paint_run(tmp_path / name, name, level) for name, level in (("a", 100), ("b", 150)))
    newer = StaticResolver(replace(BRIGHT, version=2), DARK, *PARTS)
    others = StaticResolver(BRIGHT, DARK, *PARTS[:2], replace(TEST_JUDGE, name="other judge"))
    runs = [
        paint_run(tmp_path / "version", "c", 110, ["bright"], resolver=newer),
        paint_run(tmp_path / "judge", "d", 120, ["bright"], resolver=others),
        paint_run(tmp_path / "option", "e", 130, ["bright"], options={"bright": {"over": 0.6}}),
        paint_run(tmp_path / "noise", "f", 130, ["bright"], noise="per-prompt"),
    ]
    both = StaticResolver(BRIGHT, DARK, *PARTS, replace(TEST_JUDGE, name="other judge"))
    site = write(first, second, *runs, resolver=both)
    assert site.code == 0, site.said
    assert site.names("bright") == ["b", "a"]
    left_out = {each["run"]: each for each in site.board("bright")["left_out"]}
    assert set(left_out) == {"version", "judge", "option", "noise"}
    assert left_out["version"]["reason"] == "version 2, not 1"
    assert left_out["judge"]["reason"].startswith("judge other judge#")
    assert left_out["option"]["reason"] == "over 0.6, which the others leave at its default"
    assert left_out["noise"]["reason"] == "noise per-prompt, not shared"
    command = left_out["option"]["command"]
    assert command == (
        "t2i eval --metric bright --model e=paint -o paint.level=130 --prompts words --seeds 0-2 "
        f"--judge reward={TEST_JUDGE.name}"
    )
    assert f"repeat it with: {command}" in site.said
    page = (site.folder / "metric-bright.html").read_text(encoding="utf-8")
    assert "over 0.6, which the others leave at its default" in page


@pytest.mark.long
def test_other_seeds_and_prompts_are_compared_on_shared_samples_and_marked(tmp_path: Path, write: Write) -> None:
    runs = [paint_run(tmp_path / name, name, 100 + 10 * n, ["dark"]) for n, name in enumerate("abc")]
    some = paint_run(tmp_path / "d", "d", 150, ["dark"], seeds="1-3", limit=5)
    none = paint_run(tmp_path / "e", "e", 160, ["dark"], seeds="7-8")
    site = write(*runs, some, none)
    rows = {row["model"]: row for row in site.board("dark")["rows"]}
    assert (rows["a"]["compared"], rows["d"]["compared"], rows["e"]["compared"]) == (3, 3, 0)
    assert rows["d"]["marks"][0].startswith("measured with prompts words(5)#")
    assert rows["d"]["marks"][1] == (
        "measured with seeds 1-3, others with 0-2: compare by the paired differences, not by the scores"
    )
    assert rows["a"]["marks"] == ["not compared with e: they share no prompts with the same seeds"]
    assert "not compared with a: they share no prompts with the same seeds" in rows["e"]["marks"]
    assert (rows["e"]["rank_first"], rows["e"]["rank_last"]) == (1, 5)
    pair = next(each for each in site.board("dark")["comparisons"] if {each["a"], each["b"]} == {"a", "d"})
    assert pair["n"] == 10


@pytest.mark.long
def test_where_no_seeds_are_usual_all_models_say_theirs(tmp_path: Path, write: Write) -> None:
    few = [paint_run(tmp_path / name, name, 100 + 10 * n, ["dark"]) for n, name in enumerate("ab")]
    more = [paint_run(tmp_path / name, name, 130 + 10 * n, ["dark"], seeds=4) for n, name in enumerate("cd")]
    rows = {row["model"]: row for row in write(*few, *more).board("dark")["rows"]}
    rest = "compare by the paired differences, not by the scores"
    for name in "ab":
        assert rows[name]["marks"] == [f"measured with seeds 0-2, others with 0-3: {rest}"]
    for name in "cd":
        assert rows[name]["marks"] == [f"measured with seeds 0-3, others with 0-2: {rest}"]


@pytest.mark.long
def test_a_model_that_is_on_the_board_already_is_not_to_be_repeated(tmp_path: Path, write: Write) -> None:
    earlier = paint_run(tmp_path / "earlier", "a", 100, ["bright"], options={"bright": {"over": 0.6}})
    runs = [paint_run(tmp_path / name, name, level, ["bright"]) for name, level in (("a", 100), ("b", 150))]
    site = write(earlier, *runs)
    (left_out,) = site.board("bright")["left_out"]
    assert left_out["reason"] == (
        "over 0.6, which the others leave at its default; the model is on the board already, from the run a"
    )
    assert left_out["command"] is None
    assert "repeat it with" not in site.said


@pytest.mark.long
def test_models_with_one_label_have_what_differs_in_their_names(tmp_path: Path, write: Write) -> None:
    def measure(name: str, label: str, level: int) -> Path:
        return paint_run(tmp_path / name, label, level, ["dark"])

    runs = [measure("one", "paint", 100), measure("two", "paint", 150), measure("three", "grey", 120)]
    site = write(*runs)
    rows = {row["model"]: row for row in site.board("dark")["rows"]}
    assert set(rows) == {"paint (level=100)", "paint (level=150)", "grey"}
    assert rows["grey"]["settings"] == {"level": 120}
    table = {row["model"]: row for row in csv.DictReader((site.folder / "leaderboard.csv").open(encoding="utf-8"))}
    assert table["grey"]["settings"] == "level=120"
    assert list(table["grey"])[2:8] == ["settings", "rank_first", "rank_last", "score", "low", "high"]
    page = (site.folder / "index.html").read_text(encoding="utf-8")
    assert '<div class="soft">level=120</div>' in page
    assert '<div class="soft">level=100</div>' not in page  # its name says so


@pytest.mark.long
def test_the_newest_run_of_a_model_counts_and_the_others_are_its_history(tmp_path: Path, write: Write) -> None:
    old, new = (paint_run(tmp_path / name, "grey", 120, ["dark"]) for name in ("old", "new"))
    other = paint_run(tmp_path / "other", "light", 200, ["dark"])
    namesake = paint_run(tmp_path / "namesake", "grey", 60, ["dark"])
    for n, run in enumerate((old, other, namesake, new)):
        content = json.loads((run / "run.json").read_text(encoding="utf-8"))
        (run / "run.json").write_text(json.dumps({**content, "started": f"2026-11-{20 + n}T00:00:00+00:00"}))
    site = write(new, old, other, namesake)
    assert site.data["left_out"] == [], site.said
    names = site.names("dark")
    assert names[0] == "light"
    assert sorted(names[1:]) == ["grey (level=120)", "grey (level=60)"]
    row = next(row for row in site.board("dark")["rows"] if row["run"] == "new")
    assert [each["run"] for each in row["history"]] == ["old", "new"]
    page = next(site.folder.glob("model-grey-level-120*.html"))
    assert '<svg class="history"' in page.read_text(encoding="utf-8")
    assert "recomputed the scores, intervals and counts" in page.read_text(encoding="utf-8")
    assert not any("weights" in mark for mark in row["marks"])


@pytest.mark.long
def test_runs_in_folders_of_one_name_are_told_apart(tmp_path: Path, write: Write) -> None:
    runs = [
        paint_run(tmp_path / who / "run", "grey", level, ["dark"]) for who, level in (("ann", 90), ("bob", 150))
    ]
    (tmp_path / "cid" / "run").mkdir(parents=True)
    other = paint_run(tmp_path / "other", "light", 200, ["dark"])
    site = write(*runs, tmp_path / "cid" / "run", other)
    assert "3 scores on 1 board\n" in site.said
    assert [each["run"] for each in site.data["left_out"]] == ["cid/run"]
    rows = {row["run"]: row for row in site.board("dark")["rows"]}
    assert set(rows) == {"ann/run", "bob/run", "other"}
    assert rows["ann/run"]["model"] == "grey (level=90)"
    table = list(csv.DictReader((site.folder / "leaderboard.csv").open(encoding="utf-8")))
    assert {row["run"] for row in table} == set(rows)
    page = (site.folder / "metric-dark.html").read_text(encoding="utf-8")
    assert "<td>ann/run</td>" in page
    assert "<td>bob/run</td>" in page
    assert "1 score on 1 board\n" in write(other, out="one").said


@pytest.mark.long
def test_a_model_whose_runs_have_other_weights_is_marked(tmp_path: Path, write: Write) -> None:
    old, new = (paint_run(tmp_path / name, "grey", 120, ["dark"]) for name in ("old", "new"))
    content = json.loads((old / "run.json").read_text(encoding="utf-8"))
    content["models"]["grey"]["fingerprint"] = "0" * 64
    (old / "run.json").write_text(json.dumps({**content, "started": "2020-11-20T00:00:00+00:00"}))
    (row,) = write(new, old).board("dark")["rows"]
    assert row["marks"] == ["runs of this name have other weights or code: see its history"]


@pytest.mark.long
def test_models_have_no_ranks_where_neither_end_is_better(tmp_path: Path, write: Write) -> None:
    (measure,) = DARK.measures
    both = StaticResolver(replace(DARK, measures=(replace(measure, higher_is_better=None),)), *PARTS)
    runs = [paint_run(tmp_path / n, n, level, ["dark"], resolver=both) for n, level in (("a", 60), ("b", 200))]
    site = write(*runs, resolver=both)
    assert [(row["rank_first"], row["rank_last"]) for row in site.board("dark")["rows"]] == [(None, None)] * 2
    for name in ("index.html", "metric-dark.html", "model-a.html"):
        page = (site.folder / name).read_text(encoding="utf-8")
        assert 'class="rank"' not in page
        assert ", rank" not in page
        assert ">rank<" not in page
    (row, _) = csv.DictReader((site.folder / "leaderboard.csv").open(encoding="utf-8"))
    assert row["rank_first"] == ""


@pytest.mark.long
def test_an_earlier_site_is_replaced_and_other_folders_are_refused(
    eight: list[Path], write: Write, tmp_path: Path
) -> None:
    first = write(*eight[:2])
    assert (first.folder / "model-model-0.html").exists()
    second = write(*eight[2:4])
    assert not (second.folder / "model-model-0.html").exists()
    assert (second.folder / "model-model-2.html").exists()
    (second.folder / "README.md").write_text("mine")
    assert (write(*eight[:2]).folder / "README.md").read_text() == "mine"
    (tmp_path / "space" / ".git").mkdir(parents=True)
    (tmp_path / "space" / ".gitattributes").write_text("")
    assert write(*eight[:2], out="space").code == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    refused = write(*eight[:2], out="mine")
    assert refused.code == 11
    assert (tmp_path / "mine" / "index.html").read_text() == "mine"


@pytest.mark.long
def test_a_folder_that_holds_runs_stands_for_them(tmp_path: Path, write: Write) -> None:
    runs = [
        paint_run(tmp_path / "t2i-runs" / name, name, level, ["dark"]) for name, level in (("a", 60), ("b", 200))
    ]
    site = write("t2i-runs", "nosuch", "--verify", "2")
    assert site.code == 0, site.said
    assert {row["run"] for row in site.board("dark")["rows"]} == {run.name for run in runs}
    assert "left out: nosuch: no such folder" in site.said
    assert "verified: 2 scores, 4 images judged anew, no difference\n" in site.said


@pytest.mark.long
def test_a_run_that_failed_or_has_no_scores_is_left_out(eight: list[Path], write: Write, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    site = write(eight[0], tmp_path / "empty", tmp_path / "gone")
    assert site.code == 0
    assert [each["run"] for each in site.data["left_out"]] == ["empty", "gone"]
    nothing = write(tmp_path / "empty", out="other")
    assert nothing.code == 11
    assert not nothing.folder.exists()
    assert write(eight[0], "--images-from", tmp_path, out="other").code == 6
