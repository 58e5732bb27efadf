"""The command `t2i arena`."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Battles between models: rate them, and have people vote.")


@app.callback()
def arena() -> None:
    """Battles between models: rate them, and have people vote."""
