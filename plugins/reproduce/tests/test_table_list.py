"""Tables that plugins bring, and what a broken one does to the others."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from t2i_core.api.errors import AmbiguousName, BrokenPlugin, UnknownName
from t2i_registry import Registry
from t2i_reproduce.table_list import list_tables, read_table

TABLE = """
title: "{title}"
paper: Grey
decimals: 1
recipe: {{metrics: brightness, prompts: four, seeds: 2}}
columns: {{mean: {{recipe: {{models: {{model: grey, label: Grey}}}}}}}}
mini:
  columns: {{mean: {{recipe: {{metrics: brightness, models: grey, prompts: four, seeds: 2}}}}}}
"""
RUDE = "raise SystemExit('imported')"


@pytest.fixture
def bring(install, site):
    """Install a distribution with tables, whose package cannot be imported."""

    def bring(dist, *names, text=TABLE):
        package = dist.replace("-", "_")
        install(dist, {"t2i.paper_tables": {dist: f"{package}.paper_tables"}}, {f"{package}.plugin": RUDE})
        (site / package / "__init__.py").write_text(RUDE)
        (site / package / "paper_tables").mkdir()
        for name in names:
            (site / package / "paper_tables" / f"{name}.yaml").write_text(text.format(title=f"{dist}: {name}"))

    return bring


def test_a_third_partys_table_is_listed_and_runs(toy, bring, t2i):
    bring("t2i-doe", "doe-10", "doe-2")
    assert t2i("reproduce", "--list").stdout.splitlines() == [
        "doe-2:   t2i-doe: doe-2 (no published values stored)",
        "doe-10:  t2i-doe: doe-10 (no published values stored)",
    ]
    done = t2i("reproduce", "doe-2", "--json")
    assert done.exit_code == 0, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert (cell["row"], cell["column"]) == ("Grey", "mean")
    assert cell["measured"] > 0


def test_a_broken_table_harms_only_itself(bring, install, t2i):
    bring("t2i-good", "good-1")
    bring("t2i-bad", "bad-1", text="title: [")
    install("t2i-empty", {"t2i.paper_tables": {"empty": "t2i_empty.paper_tables"}}, {"t2i_empty.plugin": RUDE})
    install("t2i-gone", {"t2i.paper_tables": {"gone": "t2i_gone.paper_tables"}})
    listed = t2i("reproduce", "--list", "--json")
    assert [table["name"] for table in json.loads(listed.stdout)] == ["good-1"]
    for dist in ("t2i-bad 1.0", "t2i-empty 1.0", "t2i-gone 1.0"):
        assert sum(dist in line for line in listed.stderr.splitlines()) == 1
    resolver = Registry()
    with pytest.raises(BrokenPlugin, match=r"t2i-bad 1\.0 \(t2i_bad\.paper_tables\)"):
        read_table("bad-1", resolver)
    assert read_table("good-1", resolver).title == "t2i-good: good-1"
    with pytest.raises(UnknownName, match="did you mean 'good-1'"):
        read_table("good-11", resolver)


def test_a_name_of_two_distributions_is_settled_by_the_distribution(bring):
    bring("t2i-one", "doe-1")
    bring("t2i-two", "doe-1")
    resolver = Registry()
    with pytest.raises(AmbiguousName):
        read_table("doe-1", resolver)
    assert read_table("t2i-two/doe-1", resolver).title == "t2i-two: doe-1"


def test_a_disabled_distribution_brings_no_tables(bring, monkeypatch):
    bring("t2i-doe", "doe-1")
    assert [file.name for file in list_tables(Registry()).files] == ["doe-1"]
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", "T2I_Doe")
    assert not [file for file in list_tables(Registry()).files if file.plugin.dist == "t2i-doe"]


def test_nothing_of_the_package_is_imported(bring):
    bring("t2i-doe", "doe-1")
    assert list_tables(Registry()).find("doe-1").read().paper == "Grey"
    with pytest.raises(SystemExit):
        import_module("t2i_doe")
