"""Output of commands, also of plugins' commands: no text can control the terminal or imitate another line.

A command depends on typer itself; core does not.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from .text import STEERING, escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PIPE_WIDTH = 200
"""Width of tables in a file or a pipe, in characters."""


def console(stderr: bool = False) -> Console:
    """Return a console that writes to standard output, or to standard error."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def render_html(draw: Callable[[Console], None], width: int = PIPE_WIDTH) -> str:
    """Return what a function prints to a console as HTML, for notebooks.

    Args:
        draw: Prints to the console that it gets.
        width: Width in characters.
    """
    from rich.console import Console

    drawn = Console(file=io.StringIO(), record=True, width=width, force_jupyter=False, highlight=False)
    draw(drawn)
    style = "white-space: pre; line-height: normal; font-family: Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    return drawn.export_html(inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>')


def shown(value: object, style: str = "") -> Text:
    """Return a text for the console without markup, emoji codes or characters that control the terminal."""
    from rich.text import Text

    return Text(escape_control_characters(str(value)), style)


def make_table(*columns: object, title: str | None = None) -> Table:
    """Return a table without lines, which wraps long cells."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in columns:
        table.add_column(shown(column), overflow="fold")
    return table


def print_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to standard output that may have thousands of rows, in the form of `make_table`.

    rich takes about a millisecond for a row. Only a table that is wider than the screen needs its layout.
    """
    from rich.cells import cell_len

    screen = console()
    cells = [[escape_control_characters(cell) for cell in row] for row in (titles, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > screen.width:
        table = make_table(*titles)
        for row in rows:
            table.add_row(*map(shown, row))
        screen.print(table)
        return
    head, *lines = (
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )
    screen.print(shown(head, "bold"))
    if lines:
        print("\n".join(lines), file=screen.file, flush=True)


def write_line(
    text: object = "",
    *,
    err: bool = False,
    bold: bool = False,
    fg: str | None = None,
    nl: bool = True,
    file: TextIO | None = None,
) -> None:
    r"""Write one line to standard output, standard error (`err`) or a file; all commands write through this.

    Control characters are written out (`\x1b`, `\n`), so that no text can control a terminal or imitate another
    line.
    """
    stream = file or (sys.stderr if err else sys.stdout)
    line = escape_control_characters(str(text))
    if (fg or bold) and stream.isatty():
        import typer

        line = typer.style(line, fg=fg, bold=bold)
    print(line, file=stream, end="\n" if nl else "", flush=True)


def print_json(data: Any) -> None:
    """Print plain data, alone on standard output; in ASCII if the output's encoding cannot represent it."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    # JSON escapes only ASCII control characters; the others occur in strings, where \u is valid
    text = STEERING.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(data, indent=1, allow_nan=False)
    print(text)
