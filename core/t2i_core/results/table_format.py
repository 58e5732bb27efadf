"""Tables as text, CSV, JSON, Markdown, LaTeX and HTML.

For people, a value and its interval stand in one cell: of a column X that is followed by the columns `low` and
`high`, or `X low` and `X high`, or `low_X` and `high_X` (of `mean_X`: `low_X` too), the three become one. Columns
`p`, `p_...` hold p-values. CSV and JSON keep every column and every digit.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..api.terminal import make_table, shown
from ..api.text import escape_control_characters
from ..files.spreadsheet import escape_table
from .markup import escape_latex, escape_markdown, join_latex_cells
from .number_format import format_interval, format_number, format_p_value

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

TableFormat = Literal["csv", "json", "markdown", "latex", "html"]

_P_TITLES = {"p_unadjusted": "p (unadjusted)", "p_adjusted": "p (Holm)"}


@dataclass(frozen=True)
class Cells:
    """A table as people read it.

    Attributes:
        titles: The title of each column.
        rows: The texts of each row; missing values are empty.
        numeric: Whether a column holds numbers, which are aligned to the right.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]


def title_column(name: object) -> str:
    """Return the title of a column."""
    return escape_control_characters(_P_TITLES.get(str(name), str(name)))


def find_intervals(columns: Sequence[object]) -> dict[str, tuple[str, str]]:
    """Return the columns with the ends of an interval by the column of the value, which stands before them."""
    names = [str(name) for name in columns]
    found = {}
    for value, low, high in zip(names, names[1:], names[2:], strict=False):
        suffix = value.partition("_")[2]
        pairs = [("low", "high"), (f"{value} low", f"{value} high"), (f"low_{value}", f"high_{value}")]
        pairs += [(f"low_{suffix}", f"high_{suffix}")] if suffix else []
        if (low, high) in pairs:
            found[value] = (low, high)
    return found


def make_cells(table: pd.DataFrame, limit: int | None = None, missing: str = "") -> Cells:
    """Return a table as people read it.

    Args:
        table: The table, with one name for each column.
        limit: Maximum number of rows; None for all.
        missing: The text of a missing value.
    """
    shown_rows = table if limit is None else table.head(limit)
    names = [str(name) for name in table.columns]
    intervals = find_intervals(names)
    ends = {name for pair in intervals.values() for name in pair}
    places = {name: place for place, name in enumerate(names)}
    kept = [name for name in names if name not in ends]
    columns = {name: list(shown_rows.iloc[:, places[name]]) for name in names}

    def text(name: str, row: int) -> str:
        value = columns[name][row]
        cell = format_cell(value, name) or missing
        if name not in intervals or cell == missing:
            return cell
        ci = [_read_number(columns[end][row]) for end in intervals[name]]
        interval = format_interval(ci)
        return cell if interval == "-" else f"{cell} {interval}"

    rows = [[text(name, row) for name in kept] for row in range(len(shown_rows))]
    titles = [f"{title_column(name)} [low, high]" if name in intervals else title_column(name) for name in kept]
    numeric = [bool(rows) and all(_is_number(value) for value in columns[name]) for name in kept]
    return Cells(titles, rows, numeric)


def format_cell(value: Any, column: str = "") -> str:
    """Return a value as a text; empty if it is missing. The column tells whether it is a p-value."""
    if _is_missing(value):
        return ""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_p_value(value) if column == "p" or column.startswith("p_") else format_number(value)
    return escape_control_characters(str(value))


def print_table(table: pd.DataFrame, limit: int | None = None) -> Table:
    """Return a table for a console of rich."""
    cells = make_cells(table, limit, missing="-")
    drawn = make_table(*cells.titles)
    for row in cells.rows:
        drawn.add_row(*map(shown, row))
    return drawn


def format_table(table: pd.DataFrame, how: TableFormat, limit: int | None = None) -> str:
    """Return a table as a text in a format.

    Args:
        table: The table.
        how: The format. LaTeX is a tabular environment with the rules of booktabs; HTML a table element.
        limit: Maximum number of rows of Markdown, LaTeX and HTML; None for all.
    """
    match how:
        case "csv":
            return str(escape_table(table).to_csv(index=False, lineterminator="\r\n"))
        case "json":
            return f"{table.to_json(orient='records', force_ascii=False, indent=1, double_precision=15)}\n"
        case "markdown":
            return _format_markdown(make_cells(table, limit))
        case "latex":
            return _format_latex(make_cells(table, limit))
        case "html":
            return _format_html(make_cells(table, limit))


def _format_markdown(cells: Cells) -> str:
    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(map(escape_markdown, row))} |\n"

    rule = "".join("---:|" if number else "---|" for number in cells.numeric)
    return "".join([line(cells.titles), f"|{rule}\n", *map(line, cells.rows)])


def _format_latex(cells: Cells) -> str:
    def line(row: Sequence[str]) -> str:
        return f"{join_latex_cells(list(map(escape_latex, row)))}\n"

    form = "".join("r" if number else "l" for number in cells.numeric)
    return (
        f"\\begin{{tabular}}{{{form}}}\n\\toprule\n{line(cells.titles)}\\midrule\n"
        f"{''.join(map(line, cells.rows))}\\bottomrule\n\\end{{tabular}}\n"
    )


def _format_html(cells: Cells) -> str:
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in cells.titles)

    def line(row: Sequence[str]) -> str:
        parts = (
            f'<td class="n">{html.escape(cell)}</td>' if number else f"<td>{html.escape(cell)}</td>"
            for cell, number in zip(row, cells.numeric, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>\n"

    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{''.join(map(line, cells.rows))}</tbody></table>\n"


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value != value


def _is_number(value: Any) -> bool:
    if _is_missing(value):
        return True
    if hasattr(value, "item"):
        value = value.item()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_number(value: Any) -> float | None:
    return None if _is_missing(value) else float(value)
