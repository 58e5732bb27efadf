"""The command `t2i arena`."""

from __future__ import annotations

import typer

from .page.command import export, serve, tally

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Collect people's votes on images, and rate models from battles.",
)

for command in (serve, tally, export):
    app.command()(command)
