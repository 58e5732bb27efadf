"""Printed values of a paper's table: a CSV file beside the paper's YAML file, one line for each cell.

Columns: `row`, `column` and `value` (as printed), then those that the table needs: `pm` (a printed interval,
`+61/-59`), spanning headers and other parts of a cell's name (`group`, `subset`, `judge`, ...), and `mark`:
`p<0.05` (significant), `?` (contradicts another part of the paper; a note says why), `*` and `n/a` (as printed).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from t2i_core.api.errors import BadRecipe
from t2i_core.io.table import read_table

ROUNDING = 0.5
"""A printed number stands for all numbers that are nearer than this share of its last digit's unit."""

_NUMBER = r"\d+(\.\d+)?"


@dataclass(frozen=True)
class PrintedValue:
    """A printed value.

    Attributes:
        row: Name of its row.
        column: Name of its column.
        text: The value as printed.
        interval: The printed interval, as printed; empty if none is printed.
        mark: Marks, separated by `;`.
    """

    row: str
    column: str
    text: str
    interval: str = ""
    mark: str = ""

    @property
    def number(self) -> float | None:
        """The value as a number; None if it is a text or a dash."""
        return float(self.text) if re.fullmatch(rf"[+-]?{_NUMBER}", self.text) else None

    @property
    def room(self) -> float:
        """Half a unit of the last printed digit."""
        return ROUNDING * 10.0 ** -len(self.text.partition(".")[2])

    def __str__(self) -> str:
        """Return the value as the table shows it, with its printed interval and marks."""
        marks = [f"({mark})" for mark in self.mark.split(";") if mark and mark != "n/a"]
        interval = f"±{self.interval}" if re.fullmatch(_NUMBER, self.interval) else self.interval
        return " ".join(filter(None, [self.text, interval, *marks]))


def read_printed_values(path: Path, rows: Sequence[str], columns: Sequence[str]) -> list[PrintedValue]:
    """Read the printed values of a table.

    Args:
        path: The CSV file.
        rows: Columns of the file that together name a row.
        columns: Columns of the file that together name a column.

    Raises:
        BadRecipe: The file cannot be read, lacks a column, or has two values of one cell.
    """
    found: dict[tuple[str, str], PrintedValue] = {}
    for number, line in read_table(path, BadRecipe, ["value", *rows, *columns]):
        row, column = (_join_names(line, names) for names in (rows, columns))
        if (row, column) in found:
            raise BadRecipe(f"{path}, line {number}: row {row!r}, column {column!r} stands more than once")
        text = line.get("value", "")
        found[row, column] = PrintedValue(row, column, text, line.get("pm", ""), line.get("mark", ""))
    return list(found.values())


def _join_names(line: dict[str, str], names: Sequence[str]) -> str:
    return " / ".join(line[name] for name in names if name in line)
