"""The tables that plugins bring are whole, their recipes valid, and their mini versions run in small."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_cli.evaluation import CommandEvaluator
from t2i_registry import Registry
from t2i_reproduce.paper_table import PaperTable
from t2i_reproduce.reproduction import list_runs
from t2i_reproduce.table_list import list_tables
from typer.testing import CliRunner

REGISTRY = Registry()
TABLES = {file.name: file for file in list_tables(REGISTRY).files}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> PaperTable:
    return TABLES[request.param].read()


def test_all_recipes_of_a_table_are_valid(table: PaperTable) -> None:
    for side in (table, table.mini):
        assert len(list_runs(side, table.title, CommandEvaluator(REGISTRY, {}))) == len(side.columns)


def test_published_values_have_a_column_and_a_row_that_is_run_or_explained(table: PaperTable) -> None:
    runs = list_runs(table, table.title, CommandEvaluator(REGISTRY, {}))
    rows = {column: [m.label for asked in request.models for m in asked.expand()] for column, _, request in runs}
    alone = {row for row in table.published if not any(row in own for own in rows.values())}
    assert all(any(row in note for note in table.notes) for row in alone)
    for row, values in table.published.items():
        assert row in alone or all(row in rows[column] for column in values), row
        assert all(math.isclose(v, round(v, table.find_decimals(c))) for c, v in values.items())
    if table.published and not alone:
        assert {row for labels in rows.values() for row in labels} == set(table.published)


def test_every_table_is_listed() -> None:
    done = CliRunner().invoke(app, ["reproduce", "--list"])
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == list(TABLES)
    assert len(TABLES) >= 18
    assert done.stderr == ""


QUICK = ("tiam-6", "hypernymy-10", "dalleval-8")
"""Of three papers one each, drawn by the simulator; all 18 together take many minutes."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in TABLES])
@pytest.mark.long
def test_the_mini_version_of_a_table_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    words = ["reproduce", name, "--mini", "--seeds", "2", "--limit", "2", "--device", "cpu", "--json"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    cells = json.loads(done.stdout)["cells"]
    assert {cell["column"] for cell in cells} == set(TABLES[name].read().mini.columns)
    measured = [cell for cell in cells if cell["measured"] is not None]
    assert len(measured) > len(cells) / 3  # a subtree of which nothing was drawn has no value
    for cell in measured:
        low, high = cell["ci"] or (None, None)
        assert low is None or low <= cell["measured"]
        assert high is None or high >= cell["measured"]
