"""Cells of CSV files that no spreadsheet runs as a formula.

A spreadsheet runs a cell that begins with `=`, or with some other signs, as a formula, which may start programs or
send data away. A prompt or a model's label from somebody else may begin so. As OWASP recommends ("CSV injection"),
such a text gets an apostrophe before it. So does a text that begins with apostrophes and then such a sign, so that
reading gives back exactly what was written. Numbers stay as they are, also as texts: `-1` is not a formula.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

_SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # the last four are the full-width forms of the first four
_FIRST = frozenset(f"'{_SIGNS}")  # tried first, because it is faster
_FORMULA = re.compile(f"'*[{re.escape(_SIGNS)}]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

Cell = TypeVar("Cell")


def escape(cell: Cell) -> Cell | str:
    """Return a cell that no spreadsheet runs. Cells that are not texts stay as they are."""
    if isinstance(cell, str) and cell[:1] in _FIRST and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def escape_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a table whose texts and column names no spreadsheet runs."""
    import numpy as np
    import pandas as pd

    safe = table.copy(deep=False)
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if isinstance(column.dtype, pd.StringDtype):
            marked = column.str.match(_FORMULA.pattern, na=False).to_numpy(bool)
        elif isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
            column = column.astype(object)
            marked = np.array([isinstance(cell, str) and cell[:1] in _FIRST for cell in column], dtype=bool)
        else:
            continue
        if marked.any():
            cells = column.to_numpy(object, copy=True)
            cells[marked] = [escape(cell) for cell in cells[marked]]
            safe.isetitem(place, cells)
    safe.columns = [escape(name) for name in safe.columns]
    return safe


def unescape_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table that `escape_table` was given. All cells of `table` are texts or missing."""
    plain = table.rename(columns=unescape)
    for name, column in plain.items():
        marked = column.str.startswith("'", na=False)
        if marked.any():
            plain[name] = column.mask(marked, column[marked].map(unescape))
    return plain
