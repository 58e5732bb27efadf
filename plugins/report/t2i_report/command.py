"""The commands `t2i report`, `t2i compare` and `t2i analyze`. Each one's work is imported when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.text import escape_control_characters
from t2i_core.files.byte_size import format_size

report_app = typer.Typer(add_completion=False)
compare_app = typer.Typer(add_completion=False)
analyze_app = typer.Typer(add_completion=False)

SideOption = Annotated[
    int, typer.Option("--side", min=16, max=1024, metavar="PIXELS", help="Of the longer side of pictures.")
]

ImagesFromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--images-from",
        metavar="DIR",
        help="Show images that lie in this folder, where a run names images outside of its own; may be repeated. "
        "Those that you have evaluated yourself need none.",
        file_okay=False,
        exists=True,
    ),
]


def _warn(message: str) -> None:

    print(f"warning: {escape_control_characters(message)}", file=sys.stderr)


def _said(page: Path) -> None:

    print(f"{page} ({format_size(page.stat().st_size)})", file=sys.stderr)


def _check_table(how: str, table: str | None) -> None:
    """Refuse a table where a page is wanted, which has all of them."""
    from t2i_core.api.errors import BadOption

    if how == "html" and table is not None:
        raise BadOption(f"--table {table}: a page holds all tables; name a --format other than html")


@report_app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where it goes. Default: report.html, or standard output."),
    ] = None,
    how: Annotated[
        Literal["html", "csv", "parquet", "json", "markdown", "latex"],
        typer.Option("--format", help="A page, or a table."),
    ] = "html",
    table: Annotated[
        Literal["scores", "rows", "comparisons"] | None,
        typer.Option(
            "--table",
            help="Which table: of scores (the default), of all measured values, of paired comparisons.",
        ),
    ] = None,
    side: SideOption = 160,
    images_from: ImagesFromOption = None,
) -> None:
    """Write runs as one HTML file, or their numbers as a table. Nothing is generated or judged."""
    from t2i_core.results.run import load_finished_run

    _check_table(how, table)
    read = list({run.folder: run for run in (load_finished_run(run, images_from or ()) for run in runs)}.values())
    if how == "html":
        from t2i_core.api.resolver import installed_resolver

        from .report import write_report

        page = out or Path("report.html")
        write_report(read, page, installed_resolver(), side, _warn)
        _said(page)
    else:
        from .tables import comparisons, measured, scores, write_table

        write_table(
            {"scores": scores, "rows": measured, "comparisons": comparisons}[table or "scores"](read), how, out
        )


@compare_app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A run's folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one, or the same.")],
    a: Annotated[
        str | None, typer.Option("--a", metavar="LABEL", help="The model of A, where it has several.")
    ] = None,
    b: Annotated[
        str | None, typer.Option("--b", metavar="LABEL", help="The model of B, where it has several.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write a page with the pictures side by side, or the table."),
    ] = None,
    how: Annotated[
        Literal["html", "csv", "parquet", "json", "markdown", "latex"],
        typer.Option("--format", help="What --out is, or what is printed."),
    ] = "html",
    table: Annotated[
        Literal["differences", "prompts"] | None,
        typer.Option("--table", help="Of metrics (the default), or prompt by prompt."),
    ] = None,
    side: SideOption = 160,
    images_from: ImagesFromOption = None,
) -> None:
    """Compare two models on what their runs share, paired: differences with intervals, prompt by prompt."""
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.results.run import load_finished_run

    from .compare import as_text, check, write_comparison
    from .compare import compare as compared

    _check_table(how, table)
    read = [load_finished_run(run, images_from or ()) for run in (first, second)]
    found = compared(*read, (a, b), installed_resolver())
    check(found, pictures=how == "html" and out is not None)
    if how != "html":
        from .tables import write_table

        write_table(found.prompts() if table == "prompts" else found.differences(), how, out)
        return
    print(as_text(found, most=10))
    if out is not None:
        write_comparison(found, out, side, _warn)
        _said(out)


@analyze_app.command()
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
            help="Option of a metric, for its analyses alone (see t2i info NAME); may be repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables (CSV) and figures there.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, alone on standard output.")] = False,
    images_from: ImagesFromOption = None,
) -> None:
    """Show what the metrics make of runs beyond their scores."""
    from .analyses import print_analyses

    print_analyses(runs, option or [], out, json, images_from or [])
