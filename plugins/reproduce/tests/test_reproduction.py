"""`t2i reproduce`: what a table prints beside what was measured."""

from __future__ import annotations

import json

import pytest
from t2i_core.api.errors import BadRecipe
from t2i_reproduce.paper_table import read_file
from t2i_reproduce.reproduction import Cell

TABLE = """
title: "Doe, Table 1: grey"
paper: Grey
decimals: 1
scale: 100
recipe:
  metrics: brightness
  models: [{model: grey, label: Grey}, {model: grey, label: Dark, settings: {level: 20}}]
  prompts: four
  seeds: 6
columns:
  mean: {}
  share: {recipe: {seeds: 3}, score: bright}
published:
  Grey: {mean: 51.8, share: 100.0}
  Dark: {mean: 49.0}
notes: [a note]
mini:
  recipe: {metrics: brightness, models: grey, prompts: four}
  columns: {mean: {recipe: {seeds: 2}}}
"""


@pytest.fixture
def table(toy, tmp_path):
    (tmp_path / "doe.yaml").write_text(TABLE)
    return tmp_path / "doe.yaml"


def test_what_is_printed_stands_beside_what_is_measured(table, t2i, tmp_path):
    done = t2i("reproduce", "doe.yaml", "--out", "runs", "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["title"], said["mini"]) == ("Doe, Table 1: grey", False)
    cells = {(c["row"], c["column"]): c for c in said["cells"]}
    assert set(cells) == {("Grey", "mean"), ("Dark", "mean"), ("Grey", "share"), ("Dark", "share")}
    grey = cells["Grey", "mean"]
    shades = [128 + seed + length for seed in range(6) for length in range(4)]
    mean = 100 * sum(shades) / len(shades) / 255
    assert grey["measured"] == pytest.approx(mean)
    assert grey["published"] == 51.8
    assert grey["diff"] == pytest.approx(mean - 51.8)
    low, high = grey["ci"]
    assert low < mean < high
    assert grey["holds"] is True
    assert cells["Dark", "mean"]["holds"] is False
    assert cells["Grey", "share"]["measured"] == 100
    assert cells["Dark", "share"]["published"] is cells["Dark", "share"]["diff"] is None
    assert json.loads((tmp_path / "runs" / "share" / "run.json").read_text())["request"]["seeds"] == [0, 1, 2]

    page = t2i("reproduce", "doe.yaml", "--row", "Dark").stdout
    line = next(line for line in page.splitlines() if line.startswith("Dark  mean"))
    assert line.split()[2] == "49.0"
    assert line.split()[-1] == "no"
    assert "note: a note" in page
    assert "Grey" not in page.replace("Doe, Table 1", "")


def test_a_row_may_stand_in_one_column_alone(table, t2i):
    own = "models: {model: grey, label: Pale, settings: {level: 200}}"
    table.write_text(TABLE.replace("score: bright}", f"score: bright}}\n  other: {{recipe: {{{own}}}}}"))
    refused = t2i("reproduce", "doe.yaml", "--row", "Gray")
    assert refused.exit_code == 6
    assert "--row 'Gray': no such row; the table has Grey, Dark, Pale" in refused.stderr
    for row, columns in (("Pale", ["other"]), ("Dark", ["mean", "share"])):
        done = t2i("reproduce", "doe.yaml", "--row", row, "--json")
        assert done.exit_code == 0, done.stderr
        assert [(c["row"], c["column"]) for c in json.loads(done.stdout)["cells"]] == [(row, c) for c in columns]


def test_mini_compares_nothing(table, t2i):
    page = t2i("reproduce", "doe.yaml", "--mini").stdout
    assert "published" not in page.partition("note:")[0]
    assert "no paper has measured the models of the mini world, so nothing is compared" in page
    (cell,) = json.loads(t2i("reproduce", "doe.yaml", "--mini", "--json").stdout)["cells"]
    assert set(cell) == {"row", "column", "measured", "ci", "run"}


def test_a_table_without_printed_values_says_so(table, t2i, tmp_path):
    table.write_text(TABLE.partition("published:")[0] + "mini:" + TABLE.partition("mini:")[2])
    page = t2i("reproduce", "doe.yaml").stdout
    assert "in interval" not in page
    assert "note: t2i stores no published values of this table, so nothing is compared" in page
    (cell, *_) = json.loads(t2i("reproduce", "doe.yaml", "--json").stdout)["cells"]
    assert cell["published"] is cell["diff"] is cell["holds"] is None


def test_a_column_may_be_one_level_of_a_facet(table, t2i):
    table.write_text(TABLE.replace("score: bright}", "score: brightness, level: {size: big}}"))
    said = json.loads(t2i("reproduce", "doe.yaml", "--json").stdout)["cells"]
    big = [level + seed + length for level in (128, 20) for seed in range(3) for length in (2, 3)]
    means = [100 * sum(shades) / 6 / 255 for shades in (big[:6], big[6:])]
    assert [c["measured"] for c in said if c["column"] == "share"] == pytest.approx(means)
    table.write_text(TABLE.replace("score: bright}", "score: brightness, level: {size: huge}}"))
    refused = t2i("reproduce", "doe.yaml")
    assert refused.exit_code == 6
    assert "column 'share': brightness does not give 'huge' for Grey" in refused.stderr


def test_a_column_may_come_from_an_analysis(table, t2i):
    table.write_text(TABLE.replace("score: bright}", "analysis: {name: rows, row: {what: all}}}"))
    refused = t2i("reproduce", "doe.yaml")
    assert refused.exit_code == 6
    assert "brightness does not give the analysis 'rows' for Grey" in refused.stderr


def test_all_runs_are_settled_before_the_first_begins(table, t2i, tmp_path):
    table.write_text(TABLE.replace("{seeds: 3}", "{seeds: 3, prompts: fourty}"))
    wrong = t2i("reproduce", "doe.yaml")
    assert wrong.exit_code == 3
    assert "table doe.yaml, column 'share': prompts.0: unknown prompt source 'fourty'" in wrong.stderr
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("reproduce",), 2, "error: name a table (t2i reproduce --list shows them)"),
        (("reproduce", "tiam-11"), 3, "unknown table 'tiam-11'; see t2i reproduce --list"),
        (("reproduce", "gone.yaml"), 13, "gone.yaml: no such file"),
        (("reproduce", "doe.yaml", "--row", "Gray"), 6, "--row 'Gray': no such row; the table has Grey, Dark\n"),
    ],
)
def test_what_is_wrong_is_one_line(table, t2i, words, code, part):
    refused = t2i(*words)
    assert refused.exit_code == code
    assert part in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("- a", "must contain keys such as title"),
        ("title: t", "columns: Field required"),
        (
            TABLE.replace("score: bright}", "level: {size: big}}"),
            "a column with 'level' must also name its 'score'",
        ),
        (TABLE.replace("Dark: {mean", "Dark: {maen"), "published: no such column: maen"),
        ("a: [", "not YAML"),
        ("title: 2020-13-45", "not YAML"),
    ],
)
def test_a_malformed_table_is_refused(tmp_path, text, part):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(BadRecipe, match=part):
        read_file(path, "t")


def test_rounding_leaves_half_a_digit_open():
    def cell(published, low, high):
        return Cell("row", "column", published, (low + high) / 2, (low, high))

    assert cell(0.41, 0.414, 0.5).holds(2) is True
    assert cell(0.41, 0.416, 0.5).holds(2) is False
    assert cell(0.41, 0.3, 0.404).holds(2) is False
    assert cell(0.41, 0.3, 0.406).holds(2) is True
    assert Cell("row", "column", 0.41).holds(2) is None
    assert Cell("row", "column", None, 0.4, (0.3, 0.5)).holds(2) is None


def test_a_column_may_have_decimals_of_its_own(table, t2i):
    table.write_text(TABLE.replace("mean: {}", "mean: {decimals: 0}").replace("mean: 51.8", "mean: 51"))
    lines = [line.split() for line in t2i("reproduce", "doe.yaml", "--row", "Grey").stdout.splitlines()]
    printed = {line[1]: line[2] for line in lines if line[:1] == ["Grey"]}
    assert printed == {"mean": "51", "share": "100.0"}
    cell = Cell("Grey", "mean", 51, 51.4, (51.4, 51.4))
    assert [cell.holds(read_file(table, "doe").find_decimals(column)) for column in ("mean", "share")] == [
        True,
        False,
    ]


def test_what_is_printed_of_a_model_that_is_not_run_is_shown(table, t2i):
    table.write_text(TABLE.replace("  Dark: {mean: 49.0}", "  Darc: {mean: 49.0}\n  Other: {share: 12.0}"))
    cells = json.loads(t2i("reproduce", "doe.yaml", "--json").stdout)["cells"]
    unmeasured = {(c["row"], c["column"]): c["published"] for c in cells if c["measured"] is None}
    assert unmeasured == {("Darc", "mean"): 49.0, ("Other", "share"): 12.0}
    assert any(c["row"] == "Dark" and c["published"] is None for c in cells)
    alone = json.loads(t2i("reproduce", "doe.yaml", "--row", "Grey", "--json").stdout)["cells"]
    assert {c["row"] for c in alone} == {"Grey"}


def test_a_column_that_is_not_given_harms_no_other(table, t2i):
    table.write_text(TABLE.replace("score: bright}", "score: brigt}"))
    done = t2i("reproduce", "doe.yaml", "--json")
    assert done.exit_code == 6
    assert "column 'share': brightness does not give 'brigt' for Grey" in done.stderr
    measured = [c["column"] for c in json.loads(done.stdout)["cells"] if c["measured"] is not None]
    assert measured == ["mean", "mean"]


def test_both_sides_are_checked_before_anything_runs(table, t2i, tmp_path):
    table.write_text(TABLE.replace("metrics: brightness, models: grey, prompts: four", "metrics: brightness"))
    done = t2i("reproduce", "doe.yaml", "--out", "runs")
    assert (done.exit_code, (tmp_path / "runs").exists()) == (13, False)
    assert done.stderr == "error: table doe.yaml, column 'mean': the recipe must name a model\n"


def test_the_plans_of_all_columns_are_one_document(table, t2i):
    plans = json.loads(t2i("reproduce", "doe.yaml", "--dry-run", "--json").stdout)
    assert [(p["column"], p["images"]["to_make"]) for p in plans] == [("mean", 48), ("share", 24)]
