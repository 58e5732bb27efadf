"""Tables hold no cell that a spreadsheet runs as a formula, and are read as they were written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api import Generated, GeneratorInfo, Measure, Metric, MetricInfo, Need, Prompt, PromptSourceInfo, Row
from t2i_core.api.errors import BadOption
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.files.spreadsheet import escape, escape_table, unescape, unescape_table
from t2i_core.io.table import read_table
from t2i_core.results.run import load_run
from t2i_core.testing import TEST_JUDGE, StaticResolver

TEXTS = st.text(st.sampled_from("'=+-@\t\r\n\uff1d1.e a,\"")) | st.text(st.characters(codec="utf-8"))


def is_formula(cell: str) -> bool:
    """As a spreadsheet sees it: a number is none."""
    try:
        float(cell)
    except ValueError:
        return cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"))
    return False


@given(TEXTS)
def test_texts_are_escaped_as_formulas_and_read_back_unchanged(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not is_formula(escape(text))


@pytest.mark.parametrize(
    ("cell", "want"),
    [
        ("=1+1", "'=1+1"), ("+1-1", "'+1-1"), ("-p", "'-p"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
        ("\r", "'\r"), ("-1", "-1"), ("+.5e-3", "+.5e-3"), (-1, -1), (-0.5, -0.5), (None, None),
        (True, True), ("", ""), ("a=1", "a=1"), ("'tis", "'tis"), ("'=1", "''=1"), ("'", "'"),
    ],
)  # fmt: skip
def test_only_what_would_be_run_is_escaped(cell: object, want: object) -> None:
    assert escape(cell) == want


@given(
    st.lists(st.tuples(TEXTS, TEXTS, st.floats(allow_nan=False), st.none() | st.integers() | TEXTS), max_size=8),
    TEXTS,
)
def test_a_table_is_read_as_it_was_written(rows: list[tuple[Any, ...]], name: str) -> None:
    columns = ["a", f"b{name}", "value", f"={name}"]
    table = pd.DataFrame(rows, columns=columns)
    before = table.copy()
    text = escape_table(table).to_csv(index=False, lineterminator="\r\n")
    pd.testing.assert_frame_equal(table, before)
    header, *cells = csv.reader(io.StringIO(text, newline=""))
    assert not any(is_formula(cell) for line in (header, *cells) for cell in line)
    assert [float(line[2]) for line in cells] == [row[2] for row in rows]
    found = unescape_table(
        pd.read_csv(io.StringIO(text, newline=""), dtype=str, keep_default_na=False, na_values=[""])
    )
    assert list(found.columns) == columns
    assert [tuple(row) for row in found[columns[:2]].fillna("").to_numpy()] == [row[:2] for row in rows]


class Darkness(Metric):
    """Negative values."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Any:
        yield Row("darkness", -unit.one().one("reward").value)


class Grey:
    def generate(self, requests: Any) -> Iterator[tuple[Any, Generated]]:
        for request in requests:
            shade = np.random.default_rng(request.noise_seed).integers(20, 200)
            yield request, Generated(np.full((8, 8, 3), shade, np.uint8))


PROMPTS = {
    "=1+1": "=cmd|' /C calc'!A0",
    "-p": "@home",
    "-7": "'=1",
    "'-q": "\t+x",
    "plain": "a dog, an owl",
}
LABELS = ('=HYPERLINK("x")', "+pear")


def test_a_runs_tables_hold_no_formula_and_are_read_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    source = PromptSourceInfo(
        name="listed",
        summary="Listed prompts.",
        prompts=lambda setup: (
            Prompt(id=id, text=text, facets={"=facet": f"={id}"}) for id, text in PROMPTS.items()
        ),
    )
    metric = MetricInfo(name="darkness", summary="D.", create=Darkness, measures=(Measure("darkness", "D."),))
    models = tuple(
        ModelRequest(GeneratorInfo(name=f"grey-{n}", summary="Grey.", create=lambda setup: Grey()), label)
        for n, label in enumerate(LABELS)
    )
    request = Request(metrics=(metric,), models=models, prompts=("listed",), seeds=(0,), out=tmp_path / "run")
    result = run_plan(make_plan(request, StaticResolver(source, TEST_JUDGE)))
    assert result.failed is None
    run = load_run(tmp_path / "run")
    assert run.comparisons[0].n == len(PROMPTS)
    samples, rows = run.samples(), run.measurements()
    assert set(samples["model"]) == set(rows["model"]) == set(LABELS)
    for label in LABELS:
        of_model = samples[samples["model"] == label]
        assert dict(zip(of_model["prompt"], of_model["text"], strict=True)) == PROMPTS
        of_model = rows[rows["model"] == label]
        assert dict(zip(of_model["prompt"], of_model["=facet"], strict=True)) == {id: f"={id}" for id in PROMPTS}
    assert (rows["value"] < 0).all()
    for name in ("samples.csv", "measurements.csv", "failures.csv"):
        with (tmp_path / "run" / name).open(newline="", encoding="utf-8") as file:
            assert not [cell for line in csv.reader(file) for cell in line if is_formula(cell)]


def test_labels_and_ids_are_read_from_tables_of_t2i_and_prompts_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,prompt\n'=a,'tis\n")
    assert read_table(path, BadOption, escaped=True)[0].cells == {"model": "=a", "prompt": "'tis"}
    assert read_table(path, BadOption)[0].cells == {"model": "'=a", "prompt": "'tis"}
