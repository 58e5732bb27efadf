"""The command `t2i arena`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .page.command import export, serve, tally

if TYPE_CHECKING:
    from .ratings import Ratings

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Battles between models: rate them, and have people vote."
)


@app.callback()
def arena() -> None:
    """Battles between models: rate them, and have people vote."""


for command in (serve, tally, export):
    app.command()(command)


@app.command()
def rate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Battles: .csv or .jsonl with prompt, left, right, verdict."),
    ],
    ties: Annotated[
        Literal["half", "omit"], typer.Option(help="A tie, and both bad, is half a win for each, or left out.")
    ] = "half",
    position: Annotated[bool, typer.Option(help="Fit what it is worth to be shown first.")] = True,
    rounds: Annotated[int, typer.Option(min=2, metavar="N", help="Rounds of the bootstrap.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Rate the models of files of battles."""
    from .battles import Battles, read_battles
    from .ratings import rate

    read = [read_battles(file) for file in files]
    battles = read[0] if len(read) == 1 else Battles.of(battle for one in read for battle in one)
    ratings = rate(battles, ties=ties, order=position, rounds=rounds)
    print(json.dumps(plain(ratings), allow_nan=False) if as_json else said(ratings))


def plain(ratings: Ratings) -> dict[str, Any]:
    """Return ratings as plain data, what does not exist as null."""
    table = ratings.table.astype(object).where(ratings.table.notna(), None)
    position = ratings.position
    return {
        "models": table.to_dict("records"),
        "position": None if position is None else {name: float(value) for name, value in vars(position).items()},
        "counts": ratings.counts,
        "clusters": ratings.clusters,
        "notes": list(ratings.notes),
    }


def said(ratings: Ratings) -> str:
    """Return ratings as lines for a reader."""
    lines = [f"{'rank':>8}  {'rating':>7}  {'95 % interval':>18}  {'battles':>8}  model"]
    for row in ratings.table.astype(object).where(ratings.table.notna(), None).to_dict("records"):
        rank = "" if row["rank"] is None else f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"
        rating = "" if row["rating"] is None else f"{row['rating']:.1f}"
        interval = "none" if row["low"] is None else f"[{row['low']:.1f}, {row['high']:.1f}]"
        lines.append(f"{rank:>8}  {rating:>7}  {interval:>18}  {row['battles']:>8}  {row['model']}")
    if ratings.position is not None:
        p = ratings.position
        lines.append(
            f"shown first: {p.points:+.1f} points [{p.low:+.1f}, {p.high:+.1f}], {p.share:.0%} against an equal"
        )
    lines.append(
        "battles: " + ", ".join(f"{count} {verdict}" for verdict, count in ratings.counts.items() if count)
    )
    if ratings.clusters:
        lines.append(f"resampled: {ratings.clusters}")
    return "\n".join([*lines, *(f"note: {note}" for note in ratings.notes)])
