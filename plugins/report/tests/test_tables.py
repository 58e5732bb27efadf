"""Exports: every format holds the run's numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from t2i_core.api.errors import BadOption
from t2i_core.results.run import Run
from t2i_report.commands.report import report_app
from t2i_report.tables import comparisons, measurements, scores, write_table
from typer.testing import CliRunner


def exported(run: Run, *words: str) -> str:
    done = CliRunner().invoke(report_app, [str(run.folder), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_scores_are_the_runs(shared_run: Run) -> None:
    table = scores([shared_run])
    for result in shared_run.results:
        own = table[(table["metric"] == result.metric) & (table["model"] == result.label)]
        whole = own[own["facet"].isna()]
        assert whole["name"].tolist() == list(result.scores)
        assert whole["value"].iloc[0] == result.score
        assert whole[["low", "high"]].iloc[0].tolist() == result.ci
        assert whole["interval"].dropna().tolist() == [result.interval]
        assert whole["n_ok"].tolist() == [result.n_ok] * len(whole)
        assert own[own["facet"].notna()]["n_ok"].isna().all()
        kind = own[(own["facet"] == "kind") & (own["level"] == "plain")]["value"].tolist()
        facets = result.facets.get("bright", {}).get("kind", {})
        assert kind == ([facets["plain"].value] if facets else [])


def test_csv_and_json_hold_each_number_in_full(shared_run: Run) -> None:
    wanted = scores([shared_run])["value"].tolist()
    rows = list(csv.DictReader(io.StringIO(exported(shared_run, "--format", "csv"))))
    assert [float(row["value"]) for row in rows] == wanted
    assert [row["value"] for row in json.loads(exported(shared_run, "--format", "json"))] == pytest.approx(
        wanted, 1e-12
    )


def test_rows_and_comparisons_are_the_runs(shared_run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(shared_run, "--format", "csv", "--table", "rows"))))
    assert [float(row["value"]) for row in rows] == shared_run.measurements()["value"].tolist()
    (first, _) = json.loads(exported(shared_run, "--format", "json", "--table", "comparisons"))
    said = shared_run.comparisons[0]
    assert first["diff"] == pytest.approx(said.diff)
    assert (first["p_adjusted"], first["p_unadjusted"]) == pytest.approx((said.p_adjusted, said.p_unadjusted))
    assert "high,p_adjusted,p_unadjusted,n" in exported(shared_run, "--format", "csv", "--table", "comparisons")
    assert measurements([shared_run])["run"].unique().tolist() == ["run"]
    assert len(comparisons([shared_run, shared_run])) == 4


def test_csv_holds_no_formula_and_other_formats_the_text(tmp_path: Path) -> None:
    table = pd.DataFrame({"model": ["=1+1", "-1"], "value": [-0.5, 2.0], "@facet": [None, "+x"]})
    for how in ("csv", "json"):
        write_table(table, how, tmp_path / how)
    text = (tmp_path / "csv").read_bytes().decode()
    assert text == "model,value,'@facet\r\n'=1+1,-0.5,\r\n-1,2.0,'+x\r\n"
    assert json.loads((tmp_path / "json").read_text())[0]["model"] == "=1+1"


def test_parquet_reads_back_as_it_was(shared_run: Run, tmp_path: Path) -> None:
    target = tmp_path / "rows.parquet"
    exported(shared_run, "--format", "parquet", "--table", "rows", "--out", str(target))
    back, wanted = pd.read_parquet(target), measurements([shared_run])
    assert back["value"].tolist() == wanted["value"].tolist()
    assert back["seed"].tolist() == wanted["seed"].tolist()
    with pytest.raises(BadOption, match="name a file with --out"):
        write_table(wanted, "parquet", None)


def test_data_opens_in_pandas(shared_run: Run) -> None:
    wanted = scores([shared_run])
    back = pd.read_csv(io.StringIO(exported(shared_run, "--format", "csv")))
    assert back["value"].tolist() == pytest.approx(wanted["value"].tolist(), nan_ok=True)
    assert back["model"].tolist() == wanted["model"].tolist()
    assert back["n_ok"].astype("Int64").isna().tolist() == wanted["n_ok"].isna().tolist()


@pytest.mark.parametrize("words", [("--table", "rows"), ("--table", "rows", "--format", "latex"),
                                   ("--digits", "2"), ("--columns", "bright", "--format", "csv")])  # fmt: skip
def test_options_of_another_format_are_refused(shared_run: Run, words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(report_app, [str(shared_run.folder), *words])
    assert isinstance(done.exception, BadOption)
    assert words[0] in str(done.exception)
