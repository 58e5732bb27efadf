"""Tables as text for people, and as data."""

from __future__ import annotations

import html
import io
import json
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_core.api.terminal import console
from t2i_core.results.table_format import find_intervals, format_cell, format_table, make_cells, print_table

TABLE = pd.DataFrame(
    {
        "model": ["mini", "a|b & <c>", None],
        "found": [0.8375, float("nan"), 0.5],
        "low": [0.7469, float("nan"), float("nan")],
        "high": [0.9001, float("nan"), float("nan")],
        "phi": [0.5, 0.25, 0.125],
        "phi low": [0.1, 0.1, 0.1],
        "phi high": [0.9, 0.9, 0.9],
        "p_adjusted": [0.0001, 0.04, float("nan")],
        "n": [80, 7, 0],
        "best": [True, False, False],
    }
)


def test_a_value_and_its_interval_stand_in_one_cell() -> None:
    cells = make_cells(TABLE, missing="-")
    assert cells.titles == ["model", "found [low, high]", "phi [low, high]", "p (Holm)", "n", "best"]
    assert cells.rows == [
        ["mini", "0.838 [0.747, 0.900]", "0.500 [0.100, 0.900]", "<0.001", "80", "yes"],
        ["a|b & <c>", "-", "0.250 [0.100, 0.900]", "0.040", "7", "no"],
        ["-", "0.500", "0.125 [0.100, 0.900]", "-", "0", "no"],
    ]
    assert cells.numeric == [False, True, True, True, True, False]
    assert make_cells(TABLE, limit=1).rows == [["mini", *cells.rows[0][1:]]]


@pytest.mark.parametrize(
    ("columns", "intervals"),
    [
        (["rho", "low", "high", "p"], {"rho": ("low", "high")}),
        (["mad", "mad low", "mad high", "mad end"], {"mad": ("mad low", "mad high")}),
        (["binding_per_prompt", "low_per_prompt", "high_per_prompt"], None),
        (["low", "high", "value"], {}),
        (["mean", "null_low", "null_high"], {}),
        (["value", "high", "low"], {}),
    ],
)
def test_intervals_are_found_by_their_names(
    columns: list[str], intervals: dict[str, tuple[str, str]] | None
) -> None:
    expected = {columns[0]: (columns[1], columns[2])} if intervals is None else intervals
    assert find_intervals(columns) == expected


def test_numbers_are_formatted_as_scores_are() -> None:
    shown = [format_cell(value) for value in (0.123456, 12.345, 1e-5, 3, None, pd.NA, float("nan"), True)]
    assert shown == ["0.123", "12.3", "1e-05", "3", "", "", "", "yes"]
    assert format_cell(0.0005, "p") == "<0.001"
    assert format_cell("\x1b[31m") == "\\x1b[31m"


def test_csv_and_json_keep_every_column_and_digit() -> None:
    read = pd.read_csv(io.StringIO(format_table(TABLE, "csv")))
    assert list(read.columns) == list(TABLE.columns)
    assert read["found"].tolist()[0] == 0.8375
    records = json.loads(format_table(TABLE, "json"))
    assert records[0]["high"] == 0.9001
    assert records[1]["found"] is None


class Cells(HTMLParser):
    """The texts of the cells of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data.strip("\n")


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=4)
)
def test_every_text_stays_in_its_cell(texts: list[str]) -> None:
    table = pd.DataFrame({"text": texts, "n": range(len(texts))})
    cells = make_cells(table)
    page = Cells()
    page.feed(format_table(table, "html"))
    assert page.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert [html.unescape(cell) for cell in page.cells[2::2]] == [row[0].strip("\n") for row in cells.rows]
    for how in ("markdown", "latex"):
        lines = format_table(table, how).splitlines()  # type: ignore[arg-type]
        assert len([line for line in lines if line.endswith(("|", "\\\\"))]) >= len(texts)


def test_latex_is_a_booktabs_table() -> None:
    text = format_table(TABLE, "latex")
    assert text.startswith("\\begin{tabular}{lrrrrl}\n\\toprule\nmodel & found [low, high] & phi")
    assert "mini & 0.838 [0.747, 0.900] & " in text
    assert "a\\textbar{}b \\& \\textless{}c\\textgreater{} &  & " in text


def test_a_console_shows_the_same_cells(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(print_table(TABLE))
    assert "mini       0.838 [0.747, 0.900]" in capsys.readouterr().out
