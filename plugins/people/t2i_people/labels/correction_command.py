"""The command `t2i correct`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def correct(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder with scores.")],
    answers: Annotated[
        Path, typer.Argument(metavar="FILE", help="People's answers: a file of t2i label, or a table (CSV).")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")] = False,
    images_from: Annotated[
        list[Path] | None,
        typer.Option(
            "--images-from",
            metavar="DIR",
            help="Allow images from this folder, for runs whose images lie outside their own folder; may be "
            "repeated.",
            file_okay=False,
            exists=True,
        ),
    ] = None,
) -> None:
    """Correct the scores of a run by people's labels, and print them. Nothing is generated, judged or written."""
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.api.terminal import console, print_json
    from t2i_core.results.corrected_run import correct_run
    from t2i_core.results.run import load_finished_run
    from t2i_core.results.score_tables import print_results

    found = correct_run(load_finished_run(run, images_from or ()), f"people:{answers}", installed_resolver())
    if json:
        print_json(found.to_json())
    else:
        print_results(console(), found.results, found.comparisons)
