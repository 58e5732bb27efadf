"""The command `t2i label`. It imports its implementation when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(add_completion=False)


@app.command()
def label(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder with scores.")],
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Metric to correct. Default: the run's only one.", show_default=False),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "--count",
            "-n",
            min=1,
            metavar="N",
            help="Number of images to label; of pairs or prompts, if the metric measures these.",
        ),
    ] = 200,
    design: Annotated[
        Literal["simple", "stratified", "cells"],
        typer.Option(
            help="Way to draw them: simple, at random; stratified, as many of each model and outcome; cells, the "
            "images of all models for a prompt and seed together, to compare models."
        ),
    ] = "simple",
    more: Annotated[
        int | None,
        typer.Option(
            "--next",
            min=1,
            metavar="N",
            help="After the first labels: N more, where they narrow the interval most.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Random seed of the draw.")] = 0,
    votes: Annotated[Path, typer.Option(metavar="FILE", help="File for the answers (SQLite).")] = Path(
        "labels.sqlite"
    ),
    each: Annotated[int, typer.Option(min=1, metavar="N", help="Number of people per image.")] = 1,
    instructions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Instructions (Markdown), shown before the first task."),
    ] = None,
    fastest: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Answers faster than this do not count.")
    ] = 1.0,
    annotator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Print a link for this person; may be repeated.")
    ] = None,
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what is drawn and stop.")] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on. If other machines can reach it, links have a token."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="P", help="Port to listen on; 0 takes any free one.")
    ] = 8765,
    token: Annotated[bool, typer.Option("--token", help="Require a token in links on this machine too.")] = False,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Public address of the page, if it is behind a proxy."),
    ] = None,
) -> None:
    """Draw images of a run and have people answer the metric's question about them, until Ctrl-C."""
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.io.rater_rules import Rules

    from ..page.serve import serve
    from .study import LabelRequest, make_study

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    wanted = LabelRequest(run, votes, metric, count, design, seed, more, tuple(images_from or ()))
    rules = Rules(fastest=fastest, seed=seed)
    request = make_study(wanted, installed_resolver(), rules, each, instructions, say)
    if not dry_run:
        serve(request, annotator or (), host, port, token, url, say)
