"""Papers that plugins bring, and what a broken file does to the others."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from t2i_core.api.errors import AmbiguousName, BadRecipe, BrokenPlugin, UnknownName
from t2i_registry import Registry
from t2i_reproduce.paper_file import read_paper
from t2i_reproduce.paper_list import find_entries, list_papers
from t2i_reproduce.reproduction import plan_reproductions

PAPER = """
title: "{title}"
source: a journal
models: {{grey: {{model: grey, names: [Grey]}}}}
runs: {{main: {{models: [grey], n_prompts: 4, recipe: {{metrics: brightness, prompts: four, seeds: 2}}}}}}
tables:
  10: {{title: dark, cell: {{run: main, model: grey}}, rows: {{Grey: {{}}}}, columns: {{mean: {{}}}}}}
  2: {{title: light, cell: {{run: main, model: grey}}, rows: {{Grey: {{}}}}, columns: {{mean: {{}}}}}}
figures:
  1: {{title: a drawing, shown_by: the paper}}
"""
RUDE = "raise SystemExit('imported')"


@pytest.fixture
def bring(install, site):
    """Install a distribution with papers, whose package cannot be imported."""

    def bring(dist, *names, text=PAPER):
        package = dist.replace("-", "_")
        install(dist, {"t2i.paper_tables": {dist: f"{package}.paper_tables"}}, {f"{package}.plugin": RUDE})
        (site / package / "__init__.py").write_text(RUDE)
        (site / package / "paper_tables").mkdir()
        for name in names:
            (site / package / "paper_tables" / f"{name}.yaml").write_text(text.format(title=f"{dist}: {name}"))

    return bring


def test_a_third_partys_paper_is_listed_and_runs(toy, bring, t2i):
    bring("t2i-doe", "doe")
    assert t2i("reproduce", "--list").stdout.splitlines() == [
        "t2i-doe: doe",
        "  doe-10        Table 10: dark",
        "  doe-2         Table 2: light",
        "  doe-figure-1  Figure 1: a drawing",
    ]
    listed = json.loads(t2i("reproduce", "--list", "--json").stdout)
    assert listed[0] == {
        "name": "doe-10", "heading": "Table 10", "title": "dark", "paper": "t2i-doe: doe", "dist": "t2i-doe",
    }  # fmt: skip
    assert t2i("reproduce", "doe-2", "--list").stdout.splitlines() == ["t2i-doe: doe", "  doe-2  Table 2: light"]
    assert t2i("reproduce", "roe", "--list").exit_code == 3
    done = t2i("reproduce", "doe-2", "--json")
    assert done.exit_code == 0, done.stderr
    (cell,) = json.loads(done.stdout)[0]["cells"]
    assert (cell["row"], cell["column"]) == ("Grey", "mean")
    assert cell["measured"] > 0


def test_a_papers_name_stands_for_all_its_entries(bring):
    bring("t2i-doe", "doe")
    found = find_entries(["doe", "doe-2"], Registry())
    assert [entry.name for _, entry in found] == ["doe-10", "doe-2", "doe-figure-1"]


def test_a_broken_file_affects_only_itself(bring, install, t2i):
    bring("t2i-good", "good")
    bring("t2i-bad", "bad", text="title: [")
    install("t2i-empty", {"t2i.paper_tables": {"empty": "t2i_empty.paper_tables"}}, {"t2i_empty.plugin": RUDE})
    install("t2i-gone", {"t2i.paper_tables": {"gone": "t2i_gone.paper_tables"}})
    listed = t2i("reproduce", "--list", "--json")
    assert {entry["dist"] for entry in json.loads(listed.stdout)} == {"t2i-good"}
    for dist in ("t2i-bad 1.0", "t2i-empty 1.0", "t2i-gone 1.0"):
        assert sum(dist in line for line in listed.stderr.splitlines()) == 1
    with pytest.raises(UnknownName, match="did you mean 'good-10'"):
        find_entries(["good-11"], Registry())


def test_a_paper_that_is_not_valid_is_blamed_on_its_distribution(bring):
    bring("t2i-bad", "bad", text=PAPER.replace("run: main", "run: mian"))
    found = find_entries(["bad-2"], Registry())
    with pytest.raises(BrokenPlugin, match=r"t2i-bad 1\.0 .*line 7, tables\.10\.cell: run 'mian'"):
        plan_reproductions(found, [], mini=False)


def test_a_name_of_two_distributions_is_settled_by_the_distribution(bring):
    bring("t2i-one", "doe")
    bring("t2i-two", "doe")
    with pytest.raises(AmbiguousName):
        find_entries(["doe-2"], Registry())
    ((file, _),) = find_entries(["t2i-two/doe-2"], Registry())
    assert file.title == "t2i-two: doe"


def test_a_disabled_distribution_brings_no_papers(bring, monkeypatch):
    bring("t2i-doe", "doe")
    assert [file.name for file in list_papers(Registry()).files] == ["doe"]
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", "T2I_Doe")
    assert not [file for file in list_papers(Registry()).files if file.dist == "t2i-doe"]


def test_nothing_of_the_package_is_imported(bring):
    bring("t2i-doe", "doe")
    ((file, _),) = find_entries(["doe-2"], Registry())
    assert read_paper(file.path).source == "a journal"
    with pytest.raises(SystemExit):
        import_module("t2i_doe")


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("- a", "must contain keys such as title"),
        ("a: [", "not YAML"),
        ("title: t\nsource: s\ntabels: {}", "line 3, tabels: "),
        ("title: t\nsource: s\ntables:\n  1:\n    columns: {}", "line 4, tables.1.title: is missing"),
        (
            "title: t\nsource: s\ntables:\n  1:\n    title: u\n    columns:\n      a: {model: x}",
            "line 7, tables.1.columns.a: model 'x' is not described; known are none",
        ),
        ("title: t\nsource: s\nmodels: {a: {names: [A]}}", "line 3, models.a: a model without 'model'"),
        ("title: t\nsource: s\nfigures: {1: {title: u}}", "line 3, figures.1: a figure must have"),
    ],
)
def test_a_malformed_paper_is_refused_with_line_and_field(tmp_path, text, part):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    with pytest.raises(BadRecipe) as refused:
        read_paper(path)
    assert part in str(refused.value)
