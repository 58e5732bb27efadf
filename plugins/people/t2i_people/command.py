"""The command `t2i people`."""

from __future__ import annotations

import typer

from .answers_command import agree, tally
from .page.command import export, serve
from .validation_command import validate

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Ask people about the images of runs, and use their answers.",
)

for command in (serve, export, tally, agree, validate):
    app.command()(command)
