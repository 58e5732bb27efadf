"""Width of a table for a paper on the page, and its form with metrics as rows if it is too wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .table import PaperCell, PaperTable

TEXT_WIDTH = 345.0
"""Width of the text of LaTeX's class article at 10 points, in points."""

_SEPARATION = 12.0
"""Space between two columns in LaTeX, in points."""

_SMALL = 0.85
"""Width of a letter of 8 points, as a share of that of 10 points."""

_WIDTHS = {
    **dict.fromkeys("ijl.,:;|'!", 2.8),
    **dict.fromkeys("frst()[]-", 3.9),
    **dict.fromkeys("mwMW%−±↑↓@", 8.0),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&=+", 7.2),
}
"""Widths of characters of Computer Modern at 10 points, in points; others are about as wide as a digit."""

_DIGIT = 5.1


def estimate_width(table: PaperTable) -> float:
    """Return the approximate width of a table in LaTeX at 10 points, in points."""
    names: list[PaperCell | str] = [table.head[0], *(name for name, _ in table.rows)]
    columns = (
        zip(*(cells for _, cells in table.rows), strict=True) if table.rows else ((),) * (len(table.head) - 1)
    )
    filled = ((title, *column) for title, column in zip(table.head[1:], columns, strict=True))
    widths = [max(map(_measure, column)) for column in (names, *filled)]
    return sum(widths) + _SEPARATION * (len(widths) - 1)


def _measure(cell: PaperCell | str) -> float:
    if isinstance(cell, str):
        return sum(_WIDTHS.get(letter, _DIGIT) for letter in cell)
    value = _measure(cell.value) * (1.15 if cell.is_best else 1)
    return value + (_DIGIT * 0.7 + _SMALL * _measure(cell.interval) if cell.interval else 0)


def fit_width(table: PaperTable) -> PaperTable:
    """Return a table, with its columns as rows if it is too wide for the page and they make it narrower."""
    if estimate_width(table) <= TEXT_WIDTH:
        return table
    turned = turn_table(table)
    return turned if estimate_width(turned) < estimate_width(table) else table


def turn_table(table: PaperTable) -> PaperTable:
    """Return a table with its columns as rows."""
    columns: Sequence[Sequence[PaperCell]] = list(zip(*(cells for _, cells in table.rows), strict=True))
    return replace(
        table,
        head=["metric", *(name for name, _ in table.rows)],
        rows=[(title, list(column)) for title, column in zip(table.head[1:], columns, strict=True)],
    )
