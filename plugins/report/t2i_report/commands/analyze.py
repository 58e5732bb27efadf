"""Command `t2i analyze`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.command import write_examples

from .options import ImagesFromOption

analyze_app = typer.Typer(add_completion=False)


@analyze_app.command(
    epilog=write_examples(
        "t2i analyze RUN",
        "t2i analyze RUN --only seeds",
        "t2i analyze RUN --out analyses",
        "t2i analyze RUN -o tiam.mined=5 --json",
    )
)
def analyze(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.", file_okay=False),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME.KEY=VALUE",
            help="Option of a metric, for its analyses only (see t2i info NAME); may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write all tables (CSV) and figures (SVG, PNG) into this folder."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Print and write only this analysis; may be repeated."),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Print every table with all rows.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")] = False,
    images_from: ImagesFromOption = None,
) -> None:
    """Print the most telling analyses that the metrics of runs offer beyond their scores, and name the others.

    Several runs are analysed together if their metrics allow it. Nothing is generated or judged.
    """
    from ..analyses import print_analyses

    print_analyses(runs, option or [], out, json, images_from or [], only or [], whole)
