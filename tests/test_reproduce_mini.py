"""Each table's recipes are valid, and its version of the mini world runs here, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from t2i_cli.app import app
from t2i_cli.paper_tables import list_table_names, read_table
from t2i_cli.request import make_request
from t2i_registry import Registry
from typer.testing import CliRunner


@pytest.mark.parametrize("name", list_table_names())
def test_all_recipes_of_a_table_are_valid(name: str) -> None:
    table, registry = read_table(name), Registry()
    for side in (table, table.mini):
        requests = [make_request({}, read, registry) for _, _, read in side.recipes(name)]
        assert len(requests) == len(side.columns)


QUICK = ("tiam-6", "hypernymy-10", "dalleval-8")
"""Of three papers one each, drawn by the simulator; all 18 together take many minutes."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in list_table_names()]
)
@pytest.mark.long
def test_the_mini_version_of_a_table_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    words = ["reproduce", name, "--mini", "--seeds", "2", "--limit", "2", "--device", "cpu", "--json"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    cells = json.loads(done.stdout)["cells"]
    assert {cell["column"] for cell in cells} == set(read_table(name).mini.columns)
    measured = [cell for cell in cells if cell["measured"] is not None]
    assert len(measured) > len(cells) / 3  # a subtree of which nothing was drawn has no value
    for cell in measured:
        low, high = cell["ci"] or (None, None)
        assert low is None or low <= cell["measured"]
        assert high is None or high >= cell["measured"]
