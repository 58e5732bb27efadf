"""The rows of a figure: the columns that it names, under fixed names, without rows that have no value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...api.errors import BrokenPlugin
from ...api.figure import Columns
from ...api.text import escape_control_characters
from ..number_format import format_number
from ..table_format import title_column

if TYPE_CHECKING:
    import pandas as pd

Record = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """Data that a figure draws.

    Attributes:
        records: Its rows, as plain data; each has a text `hover`.
        levels: The levels of each role of texts, in the order of the table.
    """

    records: list[Record]
    levels: Mapping[str, list[str]]

    def has(self, role: str) -> bool:
        """Return whether any row has a value in this role."""
        return any(record.get(role) is not None for record in self.records)

    def count(self, role: str) -> int:
        """Return the number of levels of a role."""
        return len(self.levels.get(role, ()))

    def extent(self, *roles: str) -> tuple[float, float]:
        """Return the lowest and the highest value of these roles, (0, 1) without values."""
        values = [record[role] for record in self.records for role in roles if record.get(role) is not None]
        return (min(values), max(values)) if values else (0.0, 1.0)


def collect(
    table: pd.DataFrame,
    required: Mapping[str, str],
    optional: Mapping[str, str | None],
    texts: Mapping[str, Columns | None],
    hover: Iterable[str] = (),
) -> Drawn:
    """Return the rows of a table under the names of their roles.

    Args:
        table: The table.
        required: The column of each role whose number a row must have.
        optional: The column of each role that a row may lack; a column that the table does not have is left out.
        texts: The columns of each role of levels.
        hover: Further columns for the pointer.

    Raises:
        BrokenPlugin: If the table lacks a column of `required` or `texts`.
    """
    if missing := [name for name in (*required.values(), *_list_names(texts)) if name not in table]:
        known = ", ".join(map(str, table.columns))
        raise BrokenPlugin(f"the figure names the column {missing[0]!r}; its table has {known}")
    numbers = {**required, **{role: column for role, column in optional.items() if column in table}}
    joined = {role: join_texts(table, columns) for role, columns in texts.items() if columns is not None}
    values = {role: list(table[column]) for role, column in numbers.items()}
    shown = {column: list(table[column]) for column in _list_shown(table, required, optional, texts, hover)}
    records = []
    for i in range(len(table)):
        record: Record = {role: _to_plain(column[i]) for role, column in values.items()}
        if any(record[role] is None for role in required):
            continue
        record |= {role: column[i] for role, column in joined.items()}
        record["hover"] = "; ".join(
            f"{title_column(name)}: {text}" for name, own in shown.items() if (text := _format_value(own[i]))
        )
        records.append(record)
    levels = {}
    for role, column in joined.items():
        there = {record[role] for record in records}
        levels[role] = [level for level in dict.fromkeys(column) if level in there]  # the order of the whole table
    return Drawn(records, levels)


def join_texts(table: pd.DataFrame, columns: Columns) -> list[str]:
    """Return one text for each row, from the columns that differ between rows; from the first if none does."""
    names = (columns,) if isinstance(columns, str) else columns
    varied = [name for name in names if len(table) == 1 or table[name].nunique(dropna=False) > 1] or names[:1]
    parts = [[shorten(text) for text in map(_format_level, table[name])] for name in varied]
    return [", ".join(filter(None, texts)) for texts in zip(*parts, strict=True)]


def shorten(text: str, longest: int = 120) -> str:
    """Return a text without characters that steer, and cut if it is long."""
    plain = escape_control_characters(text)
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def _list_shown(
    table: pd.DataFrame,
    required: Mapping[str, str],
    optional: Mapping[str, str | None],
    texts: Mapping[str, Columns | None],
    hover: Iterable[str],
) -> Sequence[str]:
    named = [*_list_names(texts), *required.values(), *filter(None, optional.values()), *hover]
    return [column for column in dict.fromkeys(named) if column in table]


def _list_names(texts: Mapping[str, Columns | None]) -> list[str]:
    """Return the names of all columns of texts."""
    return [
        name for columns in texts.values() for name in ((columns,) if isinstance(columns, str) else columns or ())
    ]


def _format_level(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _format_value(value: Any) -> str:
    plain = _to_plain(value)
    if plain is None:
        return ""
    return format_number(plain) if isinstance(plain, float) else shorten(str(plain))


def _to_plain(value: Any) -> Any:
    """Return a value of numpy or pandas as plain data; None if it is missing or not finite."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None
