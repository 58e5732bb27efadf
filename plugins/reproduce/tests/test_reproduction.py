"""`t2i reproduce`: printed beside measured values."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from t2i_core.api.errors import BadRecipe
from t2i_reproduce.cell_values import MeasuredValue
from t2i_reproduce.grid import Cell, Grid
from t2i_reproduce.paper import PaperRun, Show, Source
from t2i_reproduce.paper_file import read_paper
from t2i_reproduce.paper_runs import NeededRun, list_needed_runs
from t2i_reproduce.paper_table import FilledCell, FilledTable
from t2i_reproduce.printed_values import PrintedValue, read_printed_values

PAPER = """
title: Grey
source: a journal
models:
  grey: {model: grey, names: [Grey, Gray], seconds: 2}
  dark: {model: grey, names: [Dark], settings: {level: 20}, seconds: 4, assumes: [dark is 20]}
  lost: {names: [Lost (w = 1)], because: its weights are not public}
runs:
  all: {models: [grey, dark, lost], n_prompts: 4, recipe: {metrics: brightness, prompts: four, seeds: 6}}
  few:
    models: [grey, dark, lost]
    n_prompts: 4
    recipe: {metrics: brightness, prompts: four, seeds: 3}
    differs: [three seeds]
tables:
  1:
    title: grey levels
    cell: {scale: 100}
    columns:
      mean: {run: all}
      share: {run: few, score: bright}
    notes: [a note]
figures:
  1: {title: rows, show: [{run: all, analysis: rows}]}
mini:
  models: {dark: {model: grey, names: [mini], settings: {level: 50}}}
  runs:
    all: {models: [dark], n_prompts: 4, recipe: {metrics: brightness, prompts: four, seeds: 2}}
"""
VALUES = """row,column,value,mark
Gray,mean,51.8,
Gray,share,100.0,
Dark,mean,9.0,?
Dark,share,-,n/a
Lost (w = 1),mean,12.0,
Lost (w = 1),share,13.0,
"""


@pytest.fixture
def paper(toy, tmp_path):
    (tmp_path / "doe-1.csv").write_text(VALUES)
    (tmp_path / "doe.yaml").write_text(PAPER.partition("figures:")[0] + "mini:" + PAPER.partition("mini:")[2])
    return tmp_path / "doe.yaml"


def read_cells(done):
    assert done.exit_code == 0, done.stderr
    (table,) = json.loads(done.stdout)
    return {(cell["row"], cell["column"]): cell for cell in table["cells"]}


def test_printed_values_stand_beside_measured_values(paper, t2i, tmp_path):
    cells = read_cells(t2i("reproduce", "doe.yaml", "--out", "runs", "--json"))
    assert list(cells) == [(row, c) for row in ("Gray", "Dark", "Lost (w = 1)") for c in ("mean", "share")]
    gray = cells["Gray", "mean"]
    shades = [128 + seed + length for seed in range(6) for length in range(4)]
    mean = 100 * sum(shades) / len(shades) / 255
    assert gray["measured"] == pytest.approx(mean)
    assert (gray["printed"], gray["settings"], gray["holds"]) == ("51.8", "paper's", True)
    low, high = gray["ci"]
    assert low < mean < high
    dark = cells["Dark", "mean"]
    assert (dark["mark"], dark["settings"], dark["holds"]) == ("?", "assumed", True)
    share = cells["Gray", "share"]
    assert (share["measured"], share["settings"], share["holds"]) == (100, "different", None)
    lost = cells["Lost (w = 1)", "mean"]
    assert (lost["measured"], lost["because"]) == (None, "its weights are not public")
    for run, seeds in (("all", 6), ("few", 3)):
        request = json.loads((tmp_path / "runs" / run / "run.json").read_text())["request"]
        assert request["seeds"] == list(range(seeds))


def test_the_page_is_the_papers_table_with_notes(paper, t2i):
    page = t2i("reproduce", "doe.yaml").stdout
    lines = [line.split() for line in page.splitlines()]
    assert ["row", "value", "mean", "share"] in lines
    assert ["Gray", "printed", "51.8", "100.0"] in lines
    assert ["in", "interval", "yes", "-"] in lines
    assert ["in", "interval", "yes?", "-"] in lines
    assert "note: not measured: Lost (w = 1): its weights are not public" in page
    assert "note: differs from the paper, so these values are not compared: three seeds" in page
    assert "note: assumption: dark is 20" in page
    assert "note: a note" in page


@pytest.mark.long
def test_each_format_has_rows_by_columns(paper, t2i):
    markdown = t2i("reproduce", "doe.yaml", "--format", "md")
    assert "| row | value | mean | share |" in markdown.stdout
    assert "note: a note" in markdown.stderr
    assert r"\begin{tabular}{llll}" in t2i("reproduce", "doe.yaml", "--format", "latex").stdout
    assert '<th scope="col">mean</th>' in t2i("reproduce", "doe.yaml", "--format", "html").stdout
    rows = list(csv.DictReader(t2i("reproduce", "doe.yaml", "--format", "csv").stdout.splitlines()))
    values = {(row["row"], row["value"]): row for row in rows}
    assert float(values["Gray", "low"]["mean"]) < float(values["Gray", "measured"]["mean"])
    assert values["Lost (w = 1)", "not measured"]["mean"] == "its weights are not public"


def test_a_row_is_picked_by_name(paper, t2i):
    refused = t2i("reproduce", "doe.yaml", "--row", "Grau")
    assert refused.exit_code == 6
    assert "--row 'Grau': no such row; the table has Gray, Dark, Lost (w = 1)" in refused.stderr
    cells = read_cells(t2i("reproduce", "doe.yaml", "--row", "Dark", "--json"))
    assert {row for row, _ in cells} == {"Dark"}


def test_a_row_takes_another_generator(paper, t2i):
    row = "Lost (w = 1)=grey"
    cells = read_cells(t2i("reproduce", "doe.yaml", "--row", row, "--json"))
    assert {row for row, _ in cells} == {"Lost (w = 1)"}
    cell = cells["Lost (w = 1)", "mean"]
    assert cell["measured"] > 50
    assert (cell["printed"], cell["settings"], cell["holds"]) == ("12.0", "different", None)
    assert "the generator is grey" in t2i("reproduce", "doe.yaml", "--row", row).stdout


@pytest.mark.long
@pytest.mark.parametrize("change", ["--seeds", "--limit"])
def test_fewer_seeds_or_prompts_are_not_compared(paper, t2i, change):
    cells = read_cells(t2i("reproduce", "doe.yaml", change, "2", "--json"))
    assert {cell["settings"] for cell in cells.values() if cell["measured"] is not None} == {"different"}
    assert f"these values are not compared: {change} 2" in t2i("reproduce", "doe.yaml", change, "2").stdout


def test_mini_has_its_own_models_and_compares_nothing(paper, t2i):
    cells = read_cells(t2i("reproduce", "doe.yaml", "--mini", "--json"))
    assert set(cells) == {("mini", "mean"), ("mini", "share")}
    assert set(cells["mini", "mean"]) == {"row", "column", "measured", "ci", "because", "run"}
    assert cells["mini", "share"]["because"] == "no run measures it"
    page = t2i("reproduce", "doe.yaml", "--mini").stdout
    assert "printed" not in page
    assert "no paper has measured the models of the mini world, so nothing is compared" in page


def test_a_value_that_no_run_gives_is_reported_after_the_table(paper, t2i):
    paper.write_text(paper.read_text().replace("score: bright", "score: brigt"))
    done = t2i("reproduce", "doe.yaml", "--json")
    assert done.exit_code == 6
    assert "doe-1, Gray, share: brightness has no 'brigt' for Grey" in done.stderr
    cells = {(c["row"], c["column"]): c for c in json.loads(done.stdout)[0]["cells"]}
    assert cells["Dark", "mean"]["measured"] is not None


@pytest.mark.long
def test_a_level_of_a_facet_and_an_unknown_analysis(paper, t2i):
    text = paper.read_text()
    paper.write_text(text.replace("score: bright}", "score: brightness, level: {size: big}}"))
    cells = read_cells(t2i("reproduce", "doe.yaml", "--json"))
    big = [128 + seed + length for seed in range(3) for length in (2, 3)]
    assert cells["Gray", "share"]["measured"] == pytest.approx(100 * sum(big) / 6 / 255)
    paper.write_text(text.replace("score: bright}", "analysis: rows}"))
    refused = t2i("reproduce", "doe.yaml")
    assert refused.exit_code == 6
    assert "doe-1, Gray, share: no analysis 'rows'" in refused.stderr


def test_the_difference_of_two_models_has_the_interval_of_their_comparison(paper, t2i):
    paper.write_text(paper.read_text().replace("mean: {run: all}", "mean: {run: all, other: dark}"))
    done = t2i("reproduce", "doe.yaml", "--row", "Gray", "--json")
    cell = read_cells(done)["Gray", "mean"]
    assert cell["measured"] == pytest.approx(100 * (128 - 20) / 255)
    assert cell["ci"][0] <= cell["measured"] <= cell["ci"][1]


MEANS = """
    columns:
      mean: {run: all}
      share: {run: few, score: bright}
      average: {mean_of: [mean, share]}
"""


def add_means(paper, rows="    rows: {both: {mean_of: [Gray, Dark]}, all: {mean_of: [Gray, 'Lost (w = 1)']}}\n"):
    columns = "    columns:\n      mean: {run: all}\n      share: {run: few, score: bright}\n"
    text = paper.read_text()
    assert columns in text
    paper.write_text(text.replace(columns, rows + MEANS[1:]))
    more = "".join(f"{row},average,30.0,\n" for row in ("Gray", "Dark", "Lost (w = 1)"))
    more += "".join(
        f"{row},{column},30.0,\n" for row in ("both", "all") for column in ("mean", "share", "average")
    )
    (paper.with_name("doe-1.csv")).write_text(VALUES + more)


def test_a_mean_of_cells_is_computed_with_an_interval(paper, t2i):
    add_means(paper)
    done = t2i("reproduce", "doe.yaml", "--json")
    cells = read_cells(done)
    for mean, *parts in (
        (("Gray", "average"), ("Gray", "mean"), ("Gray", "share")),
        (("both", "mean"), ("Gray", "mean"), ("Dark", "mean")),
        (("both", "average"), ("both", "mean"), ("both", "share")),
    ):
        for field in ("measured", "ci"):
            values = np.mean([cells[part][field] for part in parts], axis=0)
            assert cells[mean][field] == pytest.approx(values)
    assert cells["Gray", "average"]["settings"] == "different"
    assert cells["both", "mean"]["settings"] == "assumed"
    # a part without a value leaves the mean without one
    lost = cells["Lost (w = 1)", "average"]
    assert (lost["measured"], lost["because"]) == (None, "its weights are not public")
    assert cells["all", "mean"]["because"] == (
        "it is the mean of Gray, Lost (w = 1), and not all of them are measured"
    )


def test_a_mean_of_unknown_cells_is_refused(paper, t2i):
    add_means(paper, "    rows: {both: {mean_of: [Gray, Drak]}, all: {mean_of: [Gray]}}\n")
    done = t2i("reproduce", "doe.yaml")
    assert done.exit_code == 13
    assert "mean of both is a mean of 'Drak', which is not another row or column" in done.stderr


def test_a_figure_with_columns_shows_measured_values(paper, t2i):
    figure = "figures: {3: {title: bars, cell: {run: all}, rows: {Grey: {}, Dark: {}}, columns: {mean: {}}}}\n"
    paper.write_text(paper.read_text().partition("tables:")[0] + figure)
    cells = read_cells(t2i("reproduce", "doe.yaml", "--json"))
    assert list(cells) == [("Grey", "mean"), ("Dark", "mean")]
    assert cells["Grey", "mean"]["measured"] > cells["Dark", "mean"]["measured"] > 0
    assert {cell["printed"] for cell in cells.values()} == {None}


def test_all_runs_are_checked_before_the_first_begins(paper, t2i, tmp_path):
    paper.write_text(paper.read_text().replace("prompts: four, seeds: 3", "prompts: fourty, seeds: 3"))
    wrong = t2i("reproduce", "doe.yaml")
    assert wrong.exit_code == 3
    assert "doe.yaml, runs.few.recipe: prompts.0: unknown prompt source 'fourty'" in wrong.stderr
    assert not (tmp_path / "cache").exists()


def test_a_missing_file_leaves_its_cells_empty(paper, t2i):
    paper.write_text(paper.read_text().replace("differs: [three seeds]", "files: {faces: ask the authors}"))
    cells = read_cells(t2i("reproduce", "doe.yaml", "--json"))
    assert cells["Gray", "share"]["because"] == "faces is missing: ask the authors"
    assert cells["Gray", "mean"]["measured"] is not None


def test_a_dry_run_counts_images_calls_and_hours(paper, t2i):
    (plan,) = json.loads(t2i("reproduce", "doe.yaml", "--dry-run", "--json").stdout)
    assert [(run["run"], run["images"], run["calls"]) for run in plan["runs"]] == [
        ("all", 48, 48),
        ("few", 24, 24),
    ]
    assert plan["gpu_hours"] == pytest.approx((24 * (2 + 4) + 12 * (2 + 4) + 72 * 0.02) / 3600)
    (short,) = json.loads(t2i("reproduce", "doe.yaml", "--dry-run", "--json", "--seeds", "0-1,7").stdout)
    assert [run["images"] for run in short["runs"]] == [24, 24]
    paper.write_text(paper.read_text().replace("prompts: four, seeds: 3", "prompts: [four, four], seeds: 3"))
    (short,) = json.loads(t2i("reproduce", "doe.yaml", "--dry-run", "--json", "--limit", "2").stdout)
    assert [run["prompts"] for run in short["runs"]] == [2, 2]
    page = t2i("reproduce", "doe.yaml", "--dry-run").stdout
    assert "assumed rates on one A100 GPU: 2 s an image of Grey; 4 s an image of Dark" in page


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("reproduce",), 2, "error: name a table or figure (t2i reproduce --list shows them)"),
        (("reproduce", "tiam-11"), 3, "unknown table or figure 'tiam-11'; see t2i reproduce --list"),
        (("reproduce", "gone.yaml"), 13, "gone.yaml"),
        (("reproduce", "doe.yaml", "--row", "Gray=nothing"), 3, "unknown generator 'nothing'"),
        (("reproduce", "doe.yaml", "--mini", "--row", "mini=grey"), 6, "the mini version takes no other"),
    ],
)
def test_bad_input_is_one_line(paper, t2i, words, code, part):
    refused = t2i(*words)
    assert refused.exit_code == code
    assert part in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_printed_values_without_a_row_are_refused(paper, t2i):
    values = paper.with_name("doe-1.csv")
    values.write_text(f"{VALUES}Pale,mean,1.0,\n")
    assert "row 'Pale' is neither described nor a model" in t2i("reproduce", "doe.yaml", "--dry-run").stderr
    values.write_text(f"{VALUES}Gray,mean,1.0,\n")
    with pytest.raises(BadRecipe, match=r"line 8: row 'Gray', column 'mean' stands more than once"):
        read_printed_values(values, ["row"], ["column"])


def test_rounding_leaves_half_a_digit_open():
    def fill(text, low, high, settings="paper's"):
        cell = Cell("row", "column", Source(), PrintedValue("row", "column", text))
        return FilledCell(cell, MeasuredValue((low + high) / 2, (low, high)), settings=settings)

    assert fill("0.41", 0.414, 0.5).holds is True
    assert fill("0.41", 0.416, 0.5).holds is False
    assert fill("0.41", 0.3, 0.404).holds is False
    assert fill("+0.41", 0.3, 0.406).holds is True
    assert fill("51", 51.4, 51.4).holds is True
    assert fill("51.0", 51.4, 51.4).holds is False
    assert fill("Draw", 0.3, 0.5).holds is None
    assert fill("0.41", 0.3, 0.5, "different").holds is None
    assert fill("0.41", 0.3, 0.5, "assumed").answer == "yes?"


def test_standard_deviations_stand_after_their_values():
    cell = Cell("row", "column", Source(), PrintedValue("row", "column", "-0.17", "0.08"))
    table = FilledTable(
        "doe-1",
        "",
        Grid(("row",), ("column",)),
        [FilledCell(cell, MeasuredValue(-0.1612, None, "", 0.0749))],
        [],
        mini=False,
    )
    assert table.make_frame()["column"].to_list() == ["-0.17 ±0.08", "-0.161 ±0.075"]
    exact = table.make_frame(exact=True).set_index("value")["column"]
    assert exact["measured"] == "-0.1612"
    assert exact["spread"] == "0.0749"
    assert table.to_json()["cells"][0]["spread"] == 0.0749


ANSWERS = """
title: Grey
source: a journal
models: {grey: {model: grey, names: [Grey]}, dark: {model: grey, names: [Dark], settings: {level: 20}}}
runs:
  images: {models: [dark], n_prompts: 4, recipe: {prompts: four, seeds: 2}}
  again: {models: [grey], n_prompts: 4, images_of: main, recipe: {metrics: brightness, prompts: four, seeds: 2}}
  main:
    models: [grey]
    n_prompts: 4
    recipe: {metrics: brightness, prompts: four, seeds: 2, out: "{run:images}"}
    answers: {votes.csv: people vote}
tables:
  1:
    title: shares
    rows: {Grey: {}}
    columns:
      mean: {run: again}
      left: {run: again, complement: true, scale: 100}
      votes: {run: main, analysis: votes}
"""


@pytest.fixture
def answered(toy, tmp_path):
    path = tmp_path / "pale.yaml"
    path.write_text(ANSWERS.replace(', out: "{run:images}"', ""))
    return path


def test_the_complement_of_a_share_turns_its_interval(answered, t2i):
    cells = read_cells(t2i("reproduce", "pale.yaml", "--json"))
    mean, left = cells["Grey", "mean"], cells["Grey", "left"]
    assert left["measured"] == pytest.approx(100 * (1 - mean["measured"]))
    assert left["ci"] == pytest.approx([100 * (1 - end) for end in reversed(mean["ci"])])


def test_a_run_is_made_before_people_answer_about_it(answered, t2i):
    cells = read_cells(t2i("reproduce", "pale.yaml", "--json"))
    assert cells["Grey", "votes"]["because"] == "votes.csv is missing: people vote"
    answered.with_name("votes.csv").touch()
    refused = t2i("reproduce", "pale.yaml")
    assert refused.exit_code == 6
    assert "pale-1, Grey, votes: no analysis 'votes'" in refused.stderr


def test_images_of_another_run_count_once(answered, t2i):
    (plan,) = json.loads(t2i("reproduce", "pale.yaml", "--dry-run", "--json").stdout)
    assert {run["run"]: run["images"] for run in plan["runs"]} == {"again": 0, "main": 8}


def test_a_recipe_may_name_the_folder_of_another_run(tmp_path):
    path = tmp_path / "pale.yaml"
    path.write_text(ANSWERS)
    paper = read_paper(path)
    needed = list_needed_runs(paper, [], [Show(run="main", analysis="rows")])
    assert list(needed) == ["images", "main"]
    assert needed["main"].make_recipe({"images": "runs/images"})["out"] == "runs/images"
    assert needed["main"].make_recipe()["out"] == "."
    path.write_text(ANSWERS.replace("{run:images}", "{run:pictures}"))
    with pytest.raises(BadRecipe, match=r"line 11, runs\.main\.recipe: run 'pictures' is not described"):
        read_paper(path)


def test_options_of_analyses_without_their_files_are_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    analyses = {"elo": {"beside": ["votes.csv"], "without": ["{run:plain}"], "k_factor": 8}}
    run = PaperRun(models=["a"], recipe={}, n_prompts=1, analyses=analyses, answers={"votes.csv": "vote"})
    needed = NeededRun("main", run, {})
    assert needed.list_analysis_options({}) == {"elo": {"k_factor": 8}}
    (tmp_path / "votes.csv").touch()
    assert needed.list_analysis_options({"plain": "runs/plain"}) == {
        "elo": {"beside": ["votes.csv"], "without": ["runs/plain"], "k_factor": 8}
    }


def test_parts_of_a_run_have_their_own_folders(paper, t2i, tmp_path):
    for words in (("--row", "Dark"), ()):
        done = t2i("reproduce", "doe.yaml", "--out", "runs", "--json", *words)
        assert done.exit_code == 0, done.stderr
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"all", "few", "all-dark", "few-dark"}
