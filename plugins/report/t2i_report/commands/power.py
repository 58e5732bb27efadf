"""Command `t2i power`. It imports its implementation when it runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from t2i_core.api.command import write_examples

power_app = typer.Typer(add_completion=False)


def _check_margin(margin: float) -> float:
    """Return a margin; raise an error that Typer shows unless it is above 0."""
    if not 0 < margin < math.inf:
        raise typer.BadParameter(f"must be a number above 0 (got {margin:g})")
    return margin


@power_app.command(
    epilog=write_examples(
        "t2i power RUN",
        "t2i power RUN --margin 0.03 --power 0.9 --all",
        "t2i power RUN --cost image=0.04 --cost prompt=0.5",
        "t2i power RUN --out widths.svg",
    )
)
def power(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.", file_okay=False),
    ],
    margin: Annotated[
        float,
        typer.Option(
            "--margin",
            callback=_check_margin,
            help="Smallest difference that matters; for a single model, half an interval.",
        ),
    ] = 0.05,
    wanted: Annotated[
        float, typer.Option("--power", min=0.05, max=0.999, help="Chance of finding a difference of that size.")
    ] = 0.8,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="WHAT=NUMBER",
            help="Price of a prompt, an image or an answer (image=0.04), by which designs are compared; may be "
            "repeated. Default: the time that runs measured.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Draw width against images (.svg, .png).")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Print the designs of every pair of models.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")] = False,
) -> None:
    """Tell how many prompts and seeds would show a difference, from the variation in runs.

    The runs are pilots: the variation between their prompts, seeds and images predicts other designs. The observed
    difference is never used. Nothing is generated or judged.
    """
    from ..power.needs import print_needs, read_prices
    from ..power.sample_sizes import Goal

    print_needs(runs, Goal(margin, wanted, read_prices(cost or [])), whole, as_json, out)
