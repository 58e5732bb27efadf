"""`t2i analyze`: which analyses are printed and written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from t2i_core.api.errors import UnknownName
from t2i_core.api.figure import BarChart
from t2i_core.api.study import Analysis
from t2i_report import analyses
from t2i_report.analyses import MOST_ROWS, _print, _select, _why_nothing, _write_runs

TABLE = pd.DataFrame({"model": [f"m{i}" for i in range(MOST_ROWS + 6)], "share": 0.5, "low": 0.25, "high": 0.75})
NAMES = ("first", "second", "third", "by size", "last")
FOUND = [("tiam", Analysis(name, "S.", TABLE, BarChart(label="model", value="share"))) for name in NAMES]


@pytest.fixture
def run(tmp_path: Path) -> Any:
    return SimpleNamespace(path=Path("run"), folder=tmp_path / "run", results=[], comparisons=[], images=list)


def test_the_three_most_telling_tables_are_printed_and_the_others_named(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    _print(run, FOUND, whole=False)
    out = capsys.readouterr().out
    assert [name for name in NAMES if f"tiam {name}: S." in out] == ["first", "second", "third"]
    assert "tiam also has: by size, last" in out
    assert '6 more rows: --only "first"' in out
    assert "0.500 [0.250, 0.750]" in out
    assert f"m{MOST_ROWS} " not in out
    _print(run, FOUND, whole=True)
    out = capsys.readouterr().out
    assert all(f"tiam {name}: S." in out for name in NAMES)
    assert out.count(f"m{MOST_ROWS + 5} ") == len(NAMES)


def test_an_analysis_is_found_by_its_name_or_that_of_its_file(run: Any) -> None:
    for name in ("by size", "by-size"):
        ((_, found),) = _select([(run, FOUND)], [name])
        assert [analysis.name for _, analysis in found] == ["by size"]
    with pytest.raises(UnknownName):
        _select([(run, FOUND)], ["first", "by sise"])


def test_without_the_converter_tables_are_written_and_one_line_says_so(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_runs([(run, FOUND[:1])], tmp_path / "both")
    files = sorted(path.name for path in (tmp_path / "both" / "run").iterdir())
    assert files == ["tiam-first.csv", "tiam-first.png", "tiam-first.svg"]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(analyses, "find_spec", lambda name: None)
    _write_runs([(run, FOUND)], tmp_path / "tables")
    assert {path.suffix for path in (tmp_path / "tables" / "run").iterdir()} == {".csv"}
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_of_excluded_samples_has_not_failed() -> None:
    run = SimpleNamespace(results={"results": [{}]}, measurements=lambda: pd.DataFrame(), failed=None)
    assert _why_nothing(run) == "the run measured nothing; failures.csv says why, sample by sample"
