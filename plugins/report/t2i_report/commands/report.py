"""Command `t2i report`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.command import write_examples

from .options import (
    DATA_FORMATS,
    PAPER_FORMATS,
    TABLES_PANEL,
    FormatOption,
    ImagesFromOption,
    SideOption,
    check_options,
    print_size,
    warn,
)

report_app = typer.Typer(add_completion=False)


@report_app.command(
    epilog=write_examples(
        "t2i report t2i-runs/tiam-mini-5bb8ba14",
        "t2i report RUN RUN --out results.html",
        "t2i report RUN RUN --format latex --out table.tex",
        "t2i report RUN --format markdown --columns geneval,geneval.counting,tiam --digits 2",
        "t2i report RUN --format csv --table rows --out values.csv",
    )
)
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, as t2i runs lists them.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Output file. Default: report.html; for tables, standard output."
        ),
    ] = None,
    how: FormatOption = "html",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="Columns of a table for a paper, separated by commas: metrics, named scores (geneval.counting), "
            "facets (tiam.object, tiam.object=car); may be repeated. Default: the headline of every metric.",
            rich_help_panel=TABLES_PANEL,
        ),
    ] = None,
    digits: Annotated[
        int | None,
        typer.Option(
            "--digits", min=0, max=10, help="Decimals of a table for a paper.", rich_help_panel=TABLES_PANEL
        ),
    ] = None,
    uncertainty: Annotated[
        Literal["bounds", "half-width", "none"] | None,
        typer.Option(
            "--uncertainty",
            help="Beside each score of a table for a paper: its interval (bounds, the default), half the width of "
            "its interval, or nothing.",
            rich_help_panel=TABLES_PANEL,
        ),
    ] = None,
    table: Annotated[
        Literal["scores", "rows", "comparisons"] | None,
        typer.Option(
            "--table",
            help="Data to write: scores (default), all measured values (rows), or paired comparisons.",
            rich_help_panel=TABLES_PANEL,
        ),
    ] = None,
    side: SideOption = 160,
    images_from: ImagesFromOption = None,
) -> None:
    """Write a report of runs as one HTML file, a table for a paper, or their numbers as data.

    The page has scores with intervals, comparisons, analyses, failures and a gallery of the images, and needs no
    other file. Nothing is generated or judged.
    """
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.results.run import load_finished_run

    check_options(how, DATA_FORMATS, {"--table": table})
    check_options(how, PAPER_FORMATS, {"--columns": columns, "--digits": digits, "--uncertainty": uncertainty})
    read = list({run.folder: run for run in (load_finished_run(run, images_from or ()) for run in runs)}.values())
    match how:
        case "latex" | "markdown" | "typst":
            from ..papers.formats import format_paper_table
            from ..papers.table import make_paper_table
            from ..papers.width import TEXT_WIDTH, estimate_width, fit_width
            from ..tables import write_text

            for run in read:
                if run.failed is not None:
                    warn(f"{run.path}: the run failed: {run.failed}")
            made = make_paper_table(read, installed_resolver(), columns or [], digits, uncertainty or "bounds")
            if how != "markdown":  # a page of Markdown has no width
                made = fit_width(made)
                if (width := estimate_width(made)) > TEXT_WIDTH:
                    warn(
                        f"the table is about {width:.0f} points wide, and the text of a page {TEXT_WIDTH:.0f}; "
                        "name fewer columns with --columns, or use --uncertainty none or fewer --digits"
                    )
            write_text(format_paper_table(made, how), out)
        case "csv" | "parquet" | "json":
            from ..tables import comparisons, measurements, scores, write_table

            write = {"scores": scores, "rows": measurements, "comparisons": comparisons}[table or "scores"]
            write_table(write(read), how, out)
        case "html":
            from ..report import write_report

            page = out or Path("report.html")
            write_report(read, page, installed_resolver(), side, warn)
            print_size(page)
