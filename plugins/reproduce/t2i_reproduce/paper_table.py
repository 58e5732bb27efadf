"""A paper's table with printed and measured values: its rows by its columns, as a text of several formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from t2i_core.results.number_format import format_interval, format_number

from .cell_values import MeasuredValue
from .grid import Cell, Grid

if TYPE_CHECKING:
    import pandas as pd

Settings = Literal["paper's", "assumed", "different"]
"""Settings of a measurement: the paper's, the paper's with assumptions where it leaves them open, or others."""

YES, NO = "yes", "no"


@dataclass(frozen=True)
class FilledCell:
    """A cell with its measured value.

    Attributes:
        cell: The cell.
        measured: The measured value; None if it was not measured.
        reason: Why it was not; None if it was.
        settings: Whether its settings are the paper's.
    """

    cell: Cell
    measured: MeasuredValue | None = None
    reason: str | None = None
    settings: Settings = "paper's"

    @property
    def holds(self) -> bool | None:
        """Return whether the interval holds the printed value within its rounding.

        None without a printed number or an interval, and if the settings differ from the paper's.
        """
        printed = self.cell.printed
        if printed is None or printed.number is None or self.measured is None or self.measured.ci is None:
            return None
        if self.settings == "different":
            return None
        low, high = self.measured.ci
        room = printed.room + 1e-9
        return low - room <= printed.number <= high + room

    @property
    def answer(self) -> str:
        """`holds` in words, with `?` if settings were assumed; empty without an answer."""
        if self.holds is None:
            return ""
        return f"{YES if self.holds else NO}{'?' if self.settings == 'assumed' else ''}"


@dataclass(frozen=True)
class FilledTable:
    """A paper's table with measured values.

    Attributes:
        name: Its name, such as `tiam-1`.
        heading: Paper, number and subject.
        grid: Rows and columns.
        cells: The cells, row by row.
        notes: Notes to print below it.
        mini: Whether it is the version for the mini world, which shows no printed values.
    """

    name: str
    heading: str
    grid: Grid
    cells: Sequence[FilledCell]
    notes: Sequence[str]
    mini: bool

    def make_frame(self, exact: bool = False) -> pd.DataFrame:
        """Return the table: up to three lines for each row of the paper (printed, measured, in the interval).

        Args:
            exact: Keep all digits and put the ends of intervals in separate lines, for CSV.
        """
        import pandas as pd

        values = {(each.cell.row, each.cell.column): each for each in self.cells}
        kinds = _EXACT if exact else _READABLE
        absent = "" if exact else "-"  # programs read an empty field as absent
        wanted = {kind: text for kind, text in kinds.items() if not (self.mini and kind in _OF_PRINTED)}
        lines = []
        for row in self.grid.rows:
            for kind, text in wanted.items():
                line = {column: text(values[row, column]) for column in self.grid.columns}
                if any(line.values()) or kind == "measured":
                    first = row if exact or kind == next(iter(wanted)) else " "
                    lines.append({"row": first, "value": kind, **{c: t or absent for c, t in line.items()}})
        frame = pd.DataFrame(lines, columns=["row", "value", *self.grid.columns])
        return frame.drop(columns="value") if self.mini and not exact else frame

    def list_reasons(self) -> list[str]:
        """Return why cells have no measured value: a line for each reason, with the cells that it concerns."""
        reasons: dict[str, list[Cell]] = {}
        for each in self.cells:
            if each.reason is not None:
                reasons.setdefault(each.reason, []).append(each.cell)
        return [f"not measured: {self._name_cells(cells)}: {reason}" for reason, cells in reasons.items()]

    def _name_cells(self, cells: Sequence[Cell]) -> str:
        """Return words for cells: all, whole rows, whole columns, or each cell."""
        if len(cells) == len(self.cells):
            return "all values"
        rows, columns = ({getattr(cell, axis): None for cell in cells} for axis in ("row", "column"))
        if len(cells) == len(rows) * len(self.grid.columns):
            return ", ".join(rows)
        if len(cells) == len(columns) * len(self.grid.rows):
            return ", ".join(columns)
        if len(cells) == len(rows) * len(columns):
            return f"{', '.join(columns)} of {', '.join(rows)}"
        return ", ".join(f"{cell.column} of {cell.row}" for cell in cells)

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data, with all digits."""
        return {
            "name": self.name,
            "heading": self.heading,
            "mini": self.mini,
            "rows": list(self.grid.rows),
            "columns": list(self.grid.columns),
            "cells": [self._describe(each) for each in self.cells],
            "notes": list(self.notes),
        }

    def _describe(self, each: FilledCell) -> dict[str, Any]:
        printed, measured = each.cell.printed, each.measured
        of_printed = {
            "printed": None if printed is None else printed.text,
            "mark": None if printed is None else printed.mark,
            "settings": each.settings,
            "holds": each.holds,
        }
        return {
            "row": each.cell.row,
            "column": each.cell.column,
            **({} if self.mini else of_printed),
            "measured": None if measured is None else measured.value,
            "ci": None if measured is None or measured.ci is None else list(measured.ci),
            **({} if measured is None or measured.spread is None else {"spread": measured.spread}),
            "because": each.reason,
            "run": None if measured is None else measured.run,
        }


def _write_printed(each: FilledCell) -> str:
    return "" if each.cell.printed is None else str(each.cell.printed)


def _write_measured(each: FilledCell) -> str:
    if each.measured is None or each.measured.value is None:
        return ""
    value = each.measured.value
    if isinstance(value, str):
        return value
    ci, spread = each.measured.ci, each.measured.spread
    text = format_number(value) if spread is None else f"{format_number(value)} ±{format_number(spread)}"
    return text if ci is None else f"{text} {format_interval(ci)}"


def _write_value(each: FilledCell) -> str:
    return "" if each.measured is None or each.measured.value is None else str(each.measured.value)


def _write_end(each: FilledCell, end: int) -> str:
    return "" if each.measured is None or each.measured.ci is None else str(each.measured.ci[end])


def _write_spread(each: FilledCell) -> str:
    return "" if each.measured is None or each.measured.spread is None else str(each.measured.spread)


_READABLE: dict[str, Callable[[FilledCell], str]] = {
    "printed": _write_printed,
    "measured": _write_measured,
    "in interval": lambda each: each.answer,
}
_EXACT: dict[str, Callable[[FilledCell], str]] = {
    "printed": _write_printed,
    "measured": _write_value,
    "low": lambda each: _write_end(each, 0),
    "high": lambda each: _write_end(each, 1),
    "spread": _write_spread,
    "in interval": lambda each: each.answer,
    "not measured": lambda each: each.reason or "",
}
_OF_PRINTED = ("printed", "in interval")
