"""The measurement table: one row per measured value, compact in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd


class _Column:
    """A column of repeated values: each distinct value once, and a code per row (-1 if missing)."""

    def __init__(self, rows: int) -> None:
        self.codes = array("i", [-1]) * rows
        self.known: dict[Any, int] = {}

    def code(self, value: Any) -> int:
        return -1 if value is None else self.known.setdefault(value, len(self.known))


class TableBuilder:
    """Collects rows one by one; `build` returns them as a DataFrame.

    Every column except `value` is categorical. A facet that a row does not have is missing there.
    """

    def __init__(self) -> None:
        self._values = array("d")
        self._columns: dict[str, _Column] = {}

    def __len__(self) -> int:
        return len(self._values)

    def append(self, value: float, columns: Mapping[str, Any]) -> None:
        """Add one row. `columns` may differ from row to row."""
        for name in columns:
            self._column(name)
        for name, column in self._columns.items():
            column.codes.append(column.code(columns.get(name)))
        self._values.append(value)

    def extend(
        self, values: Iterable[float], columns: Mapping[str, Any], varying: Mapping[str, Sequence[Any]]
    ) -> None:
        """Add one row for each value.

        Args:
            values: The values.
            columns: The columns that are the same for all of them.
            varying: The columns that differ, with their content for each value.
        """
        for name in (*columns, *varying):
            self._column(name)
        before = len(self._values)
        self._values.extend(values)
        number = len(self._values) - before
        for name, column in self._columns.items():
            if name in varying:
                column.codes.extend(map(column.code, varying[name]))
            else:
                column.codes.extend(array("i", [column.code(columns.get(name))]) * number)

    def _column(self, name: str) -> None:
        if name not in self._columns:
            self._columns[name] = _Column(len(self._values))

    def build(self) -> pd.DataFrame:
        """Return all rows so far."""
        data: dict[str, Any] = {
            name: pd.Categorical.from_codes(
                np.frombuffer(column.codes, np.int32).copy() if column.codes else [],
                categories=pd.Index(list(column.known), dtype=object),
            )
            for name, column in self._columns.items()
        }
        data["value"] = np.frombuffer(self._values, np.float64).copy() if self._values else np.empty(0)
        return pd.DataFrame(data)
