"""Users' tables: their content, and errors about tables that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2i_core.api.errors import BadOption, BadPrompts
from t2i_core.io.table import TableRow, parse_json_lines, read_table


def table(folder: Path, text: str, name: str = "t.csv") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_rows_have_the_line_on_which_they_begin_and_no_empty_cells(tmp_path: Path) -> None:
    path = table(tmp_path, '\ufeffa , b,c\r\n 1 ,"two\r\nlines",\r\n\r\n , ,\r\nx,y\r\n')
    rows = read_table(path, BadOption, ("b", "a"))
    assert rows == [TableRow(2, {"a": "1", "b": "two\r\nlines"}), TableRow(6, {"a": "x", "b": "y"})]


def test_cells_of_tsv_end_at_tabs(tmp_path: Path) -> None:
    assert read_table(table(tmp_path, "a\tb\n1,5\t2\n", "t.TSV"), BadOption) == [
        TableRow(2, {"a": "1,5", "b": "2"})
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,a\n", "line 1: the column 'a'"),
        ("a,c\n", "line 1: no column 'b'; the table must have the columns a, b"),
        ("", "line 1: no column 'a'; the table must have the columns a, b"),
        ("a,b\n1,2\n1,2,3\n", "line 3: has 3 cells"),
        ('a,b\n1,2\n1,"2\n', "line 3: not CSV (unexpected end of data)"),
    ],
)
def test_malformed_tables_are_reported_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    path = table(tmp_path, text)
    with pytest.raises(BadPrompts) as error:
        read_table(path, BadPrompts, ("a", "b"))
    assert str(error.value).startswith(f"{path}, {said}")


def test_json_lines_end_where_lines_do_and_nowhere_else(tmp_path: Path) -> None:
    text = '\n{"a": "x\u2028y"}\r\n  \n{"a": null}'
    assert list(parse_json_lines(tmp_path / "t.jsonl", text, BadOption, "a")) == [
        (2, {"a": "x\u2028y"}),
        (4, {"a": None}),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}\n{", "line 2: not JSON"),
        ("[" * 200_000, "line 1: not JSON"),
        (f'{{"a": {"[" * 60}{"]" * 60}}}', "line 1: lists and objects are nested more than 50 deep"),
        ("\n[1]", "line 2: must be a JSON object with a, b"),
    ],
)
def test_malformed_json_lines_are_reported_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadPrompts) as error:
        list(parse_json_lines(tmp_path / "t.jsonl", text, BadPrompts, "a, b"))
    assert str(error.value).startswith(f"{tmp_path / 't.jsonl'}, {said}")
    assert "\n" not in str(error.value)
