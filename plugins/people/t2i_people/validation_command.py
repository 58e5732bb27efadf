"""The command `t2i people validate`, which imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def validate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders.")],
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help="People's answers: a file of t2i people serve, or CSV.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Show only this metric; may be repeated. Default: all."),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only the answers to this question; may be repeated. Default: all of them."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Compare each model with this one alone: people's shares, each metric's difference, and their "
            "correlation over prompts.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Separate lines for each level of this column of measurements.csv (skill)."
        ),
    ] = None,
    how: Annotated[
        Literal["text", "csv", "markdown"],
        typer.Option("--format", help="Print tables as text or Markdown, or one table with every number (csv)."),
    ] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")] = False,
) -> None:
    """Set metrics of runs beside people's preferences or ratings of the same images: how good is each metric?"""
    from t2i_core.api.errors import BadOption
    from t2i_core.api.terminal import print_json, write_line

    from .validation import compare_with_baseline
    from .validation import validate as compare
    from .validation.output import print_validation

    if as_json and how != "text":
        raise BadOption(f"--json: cannot be combined with --format {how}; leave one out")
    metrics, questions = metric or (), question or ()
    found = (
        compare(runs, answers, metrics=metrics, questions=questions, by=by)
        if baseline is None
        else compare_with_baseline(runs, answers, baseline, metrics=metrics, questions=questions, by=by)
    )
    if as_json:
        print_json(found.to_json())
        return
    print_validation(found, how)
    if how == "csv":
        for note in found.notes:
            write_line(f"note: {note}", err=True)
