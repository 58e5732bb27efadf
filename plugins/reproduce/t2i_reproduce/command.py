"""The command `t2i reproduce`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.command import runs_evaluations

app = typer.Typer(add_completion=False)


@app.command()
@runs_evaluations
def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="A table (see --list), or a YAML file with your own table."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the installed tables.")] = False,
    mini: Annotated[
        bool,
        typer.Option(
            "--mini", help="Run the table on the mini world, which needs no GPU; compares with no paper."
        ),
    ] = False,
    row: Annotated[
        list[str] | None, typer.Option("--row", metavar="NAME", help="Run only this row. May be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the runs, one per column.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")] = False,
) -> None:
    """Run a paper's table and print the published next to the measured values."""
    if list_:
        from .table_list import print_tables

        print_tables(context.obj.resolver, json)
        return
    if name is None:
        context.fail("name a table (t2i reproduce --list shows them) or a YAML file with your own table")
    from .reproduction import reproduce

    reproduce(context.obj, name, row or [], out, mini, dry_run, json)
