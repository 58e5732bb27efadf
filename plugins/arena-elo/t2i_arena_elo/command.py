"""The command `t2i arena`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Rate models from battles.")


@app.callback()
def arena() -> None:
    """Rate models from battles."""


@app.command()
def tally(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="ANSWERS|BATTLES|RUN",
            help="People's answers (t2i people), files of battles (.csv, .jsonl), and runs of the metric elo.",
        ),
    ],
    ties: Annotated[
        Literal["half", "omit"],
        typer.Option(help="Count a tie, or both bad, as half a win for each model, or omit it."),
    ] = "half",
    position: Annotated[bool, typer.Option(help="Fit the advantage of being shown first.")] = True,
    rounds: Annotated[int, typer.Option(min=100, metavar="N", help="Number of bootstrap rounds.")] = 1000,
    online: Annotated[
        float | None,
        typer.Option(
            min=0.01, metavar="K", help="Rate by online Elo with this K-factor as well (old leaderboards: 4)."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rate models by the verdicts of people and models, and show how far the judges agree."""
    from .sources import read_source
    from .tally import as_text
    from .tally import tally as add_up

    found = add_up([read_source(path) for path in sources], ties, rounds, position, online)
    print(json.dumps(found.plain(), ensure_ascii=False, allow_nan=False) if as_json else as_text(found))
