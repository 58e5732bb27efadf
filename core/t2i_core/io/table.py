"""Tables of users: CSV with a line of names, or JSON lines, read so that what is wrong is said with its line."""

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
"""Levels of lists and objects within each other in a line of JSON."""


class TableRow(NamedTuple):
    """The cells of one row by their columns' names, stripped; those that are empty are left out.

    line: the one on which it begins, from 1
    """

    line: int
    cells: dict[str, str]


def read_table(
    path: Path, error: type[T2IError], columns: Sequence[str] = (), escaped: bool = False
) -> list[TableRow]:
    """Return the rows of a table in UTF-8, those that are empty left out; of a file `.tsv` cells end at tabs.

    columns: those that must be there, in any order, among any others
    escaped: whether the cells are labels and ids as t2i's own tables have them (`spreadsheets.escape`)

    Raises `error`, in one line that names file and line, where it cannot be read, is no table, or lacks a column.
    """
    return parse_table(path, read_text(path, error), error, columns, escaped)[1]


def parse_table(
    path: Path, text: str, error: type[T2IError], columns: Sequence[str] = (), escaped: bool = False
) -> tuple[list[str], list[TableRow]]:
    """Return a table's columns and rows, whose file was read already. Raises what `read_table` does."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin, rows = 1, []
    try:
        names = [name.strip() for name in next(lines, [])]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise error(f"{path}, line 1: the column {twice!r} is there twice")
        if missing := next((name for name in columns if name not in names), None):
            raise error(f"{path}, line 1: no column {missing!r}; want {', '.join(columns)}")
        begin = lines.line_num + 1
        for cells in lines:
            if len(cells) > len(names):
                raise error(f"{path}, line {begin}: {len(cells)} cells under {len(names)} columns")
            if filled := {name: cell.strip() for name, cell in zip(names, cells, strict=False) if cell.strip()}:
                plain = {name: unescape(cell) for name, cell in filled.items()} if escaped else filled
                rows.append(TableRow(begin, plain))
            begin = lines.line_num + 1
    except csv.Error as problem:
        raise error(f"{path}, line {begin}: not CSV ({problem})") from problem
    return names, rows


def parse_json_lines(
    path: Path, text: str, error: type[T2IError], want: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of one JSON object a line, each with its line, from 1; empty lines are left out.

    want: what an object must hold, in words

    Raises `error`, in one line that names file and line, for a line that is no JSON, no object, or nested
    more than `MAX_DEPTH` deep.
    """
    # not str.splitlines, which also cuts at form feeds and the line separators that a text may hold
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if stripped := line.strip():
            try:
                data = json.loads(stripped)
            except (ValueError, RecursionError) as problem:
                raise error(f"{path}, line {number}: not JSON ({problem})") from problem
            if _is_deeper(data, MAX_DEPTH):
                raise error(f"{path}, line {number}: lists and objects are nested more than {MAX_DEPTH} deep")
            if not isinstance(data, dict):
                raise error(f"{path}, line {number}: want a JSON object with {want}")
            yield number, data


def _is_deeper(data: Any, levels: int) -> bool:
    """Whether lists and objects lie more than this many levels within each other."""
    level = [data]
    for _ in range(levels + 1):
        below: list[Any] = []
        for each in level:
            below += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if not below:
            return False
        level = below
    return True
