"""Tables that users write: CSV with a header line, or JSON lines. Errors name file and line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..api.errors import T2IError
from ..files.spreadsheet import unescape
from .text_file import read_text

MAX_DEPTH = 50
"""Maximum depth to which lists and objects may be nested in a line of JSON."""


class TableRow(NamedTuple):
    """One row of a table.

    Attributes:
        line: The line on which it begins, from 1.
        cells: Its cells by column, stripped, without the empty ones.
    """

    line: int
    cells: dict[str, str]


def read_table(
    path: Path, error: type[T2IError], columns: Sequence[str] = (), escaped: bool = False
) -> list[TableRow]:
    """Return the rows of a table in UTF-8, without the empty ones. In a `.tsv` file tabs separate the cells.

    Args:
        path: The file.
        error: The class of error to raise.
        columns: Columns that the table must have, in any order; it may have others.
        escaped: True if the cells are escaped as in t2i's own tables (`spreadsheet.escape`).

    Raises:
        T2IError: `error`, in one line that names file and line, if the file cannot be read, is not a table, or
            lacks a column.
    """
    return parse_table(path, read_text(path, error), error, columns, escaped)[1]


def parse_table(
    path: Path, text: str, error: type[T2IError], columns: Sequence[str] = (), escaped: bool = False
) -> tuple[list[str], list[TableRow]]:
    """Return the columns and rows of a table from its text. See `read_table` for arguments and errors."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin, rows = 1, []
    try:
        names = [name.strip() for name in next(lines, [])]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise error(f"{path}, line 1: the column {twice!r} appears twice; rename or delete one")
        if missing := next((name for name in columns if name not in names), None):
            raise error(
                f"{path}, line 1: no column {missing!r}; the table must have the columns {', '.join(columns)}"
            )
        begin = lines.line_num + 1
        for cells in lines:
            if len(cells) > len(names):
                columns_in_words = "1 column" if len(names) == 1 else f"{len(names)} columns"
                raise error(
                    f"{path}, line {begin}: has {len(cells)} cells, but the table has {columns_in_words}; "
                    "quote a cell that contains the separator"
                )
            if filled := {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}:
                plain = {name: unescape(cell) for name, cell in filled.items()} if escaped else filled
                rows.append(TableRow(begin, plain))
            begin = lines.line_num + 1
    except csv.Error as problem:
        raise error(f"{path}, line {begin}: not CSV ({problem})") from problem
    return names, rows


def parse_json_lines(
    path: Path, text: str, error: type[T2IError], expected: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of a JSON lines file with its line number, from 1. Empty lines are skipped.

    Args:
        path: The file, for messages.
        text: Its content.
        error: The class of error to raise.
        expected: What an object must have, in words, for messages.

    Raises:
        T2IError: `error`, in one line that names file and line, if a line is not a JSON object, or is nested more
            than `MAX_DEPTH` deep.
    """
    # not str.splitlines, which also splits at form feeds and line separators, which a text may contain
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if stripped := line.strip():
            try:
                data = json.loads(stripped)
            except (ValueError, RecursionError) as problem:
                raise error(f"{path}, line {number}: not JSON ({problem})") from problem
            if _is_deeper(data, MAX_DEPTH):
                raise error(f"{path}, line {number}: lists and objects are nested more than {MAX_DEPTH} deep")
            if not isinstance(data, dict):
                raise error(f"{path}, line {number}: must be a JSON object with {expected}")
            yield number, data


def _is_deeper(data: Any, levels: int) -> bool:
    """Return whether lists and objects are nested more than `levels` deep."""
    level = [data]
    for _ in range(levels + 1):
        below: list[Any] = []
        for each in level:
            below += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if not below:
            return False
        level = below
    return True
