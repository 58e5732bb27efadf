"""The command `t2i view`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.command import write_examples

app = typer.Typer(add_completion=False)


@app.command(
    epilog=write_examples(
        "t2i view",
        "t2i view tiam-mini-2d81d4fb",
        "t2i view runs-of-the-team --port 8800",
        "t2i view --host 0.0.0.0",
    )
)
def view(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="Folder that holds runs, or a run (its folder or name). Default: t2i-runs."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="Address to listen on. At any address but this machine's own, the page needs a token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 takes any free one.")
    ] = 8766,
    token: Annotated[bool, typer.Option("--token", help="Demand a token on this machine, too.")] = False,
) -> None:
    """Show the runs of a folder as a page: list, search and compare them, and follow runs under way.

    The page only reads; it changes nothing in the folder. Reports and comparisons are made when they are opened.
    """
    from .serve import serve

    serve(folder, host, port, token)
