"""Commands `t2i report`, `t2i compare` and `t2i analyze`. Each imports its implementation when it runs."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.command import write_examples
from t2i_core.api.text import escape_control_characters
from t2i_core.files.byte_size import format_size

report_app = typer.Typer(add_completion=False)
compare_app = typer.Typer(add_completion=False)
analyze_app = typer.Typer(add_completion=False)
power_app = typer.Typer(add_completion=False)

_PICTURES = "Pictures"
_TABLES = "Tables"
_PAPER = ("latex", "markdown", "typst")
_DATA = ("csv", "parquet", "json")

SideOption = Annotated[
    int,
    typer.Option(
        "--side",
        min=16,
        max=1024,
        metavar="PIXELS",
        help="Maximum side of pictures in pixels.",
        rich_help_panel=_PICTURES,
    ),
]

ImagesFromOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--images-from",
        metavar="DIR",
        help="Allow images from this folder, for runs whose images lie outside their own folder; may be repeated. "
        "Images that you evaluated yourself do not need it.",
        file_okay=False,
        exists=True,
        rich_help_panel=_PICTURES,
    ),
]


def _warn(message: str) -> None:

    print(f"warning: {escape_control_characters(message)}", file=sys.stderr)


def _print_size(page: Path) -> None:

    print(f"{page} ({format_size(page.stat().st_size)})", file=sys.stderr)


FormatOption = Annotated[
    Literal["html", "latex", "markdown", "typst", "csv", "parquet", "json"],
    typer.Option(
        "--format",
        help="Write a page (html), a table for a paper (latex, markdown, typst), or data (csv, parquet, json).",
    ),
]


def _check_options(how: str, formats: Sequence[str], options: Mapping[str, object]) -> None:
    """Check that options of some formats are not combined with another one.

    Raises:
        BadOption: If they are.
    """
    from t2i_core.api.errors import BadOption

    for name, value in options.items():
        if value is not None and how not in formats:
            raise BadOption(f"{name} has no effect with --format {how}; name --format {', '.join(formats)}")


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
            rich_help_panel=_TABLES,
        ),
    ] = None,
    digits: Annotated[
        int | None,
        typer.Option("--digits", min=0, max=10, help="Decimals of a table for a paper.", rich_help_panel=_TABLES),
    ] = None,
    uncertainty: Annotated[
        Literal["bounds", "half-width", "none"] | None,
        typer.Option(
            "--uncertainty",
            help="Beside each score of a table for a paper: its interval (bounds, the default), half the width of "
            "its interval, or nothing.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    table: Annotated[
        Literal["scores", "rows", "comparisons"] | None,
        typer.Option(
            "--table",
            help="Data to write: scores (default), all measured values (rows), or paired comparisons.",
            rich_help_panel=_TABLES,
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

    _check_options(how, _DATA, {"--table": table})
    _check_options(how, _PAPER, {"--columns": columns, "--digits": digits, "--uncertainty": uncertainty})
    read = list({run.folder: run for run in (load_finished_run(run, images_from or ()) for run in runs)}.values())
    match how:
        case "latex" | "markdown" | "typst":
            from .papers.formats import format_paper_table
            from .papers.table import make_paper_table
            from .papers.width import TEXT_WIDTH, estimate_width, fit_width
            from .tables import write_text

            for run in read:
                if run.failed is not None:
                    _warn(f"{run.path}: the run failed: {run.failed}")
            made = make_paper_table(read, installed_resolver(), columns or [], digits, uncertainty or "bounds")
            if how != "markdown":  # a page of Markdown has no width
                made = fit_width(made)
                if (width := estimate_width(made)) > TEXT_WIDTH:
                    _warn(
                        f"the table is about {width:.0f} points wide, and the text of a page {TEXT_WIDTH:.0f}; "
                        "name fewer columns with --columns, or use --uncertainty none or fewer --digits"
                    )
            write_text(format_paper_table(made, how), out)
        case "csv" | "parquet" | "json":
            from .tables import comparisons, measurements, scores, write_table

            write = {"scores": scores, "rows": measurements, "comparisons": comparisons}[table or "scores"]
            write_table(write(read), how, out)
        case "html":
            from .report import write_report

            page = out or Path("report.html")
            write_report(read, page, installed_resolver(), side, _warn)
            _print_size(page)


@compare_app.command(
    epilog=write_examples(
        "t2i compare OLD NEW",
        "t2i compare OLD NEW --out comparison.html",
        "t2i compare RUN RUN --a mini --b mini-early",
        "t2i compare OLD NEW --format csv --table prompts",
    )
)
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of the second run; may be the same.")],
    a: Annotated[str | None, typer.Option("--a", metavar="LABEL", help="Model of A, if it has several.")] = None,
    b: Annotated[str | None, typer.Option("--b", metavar="LABEL", help="Model of B, if it has several.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Output file: a page with the pictures side by side, or a table."
        ),
    ] = None,
    how: FormatOption = "html",
    table: Annotated[
        Literal["differences", "prompts"] | None,
        typer.Option("--table", help="Data to write: differences of metrics (default), or of prompts."),
    ] = None,
    side: SideOption = 160,
    images_from: ImagesFromOption = None,
) -> None:
    """Compare two models, paired, on the prompts and seeds that their runs share.

    The difference of each metric has a confidence interval and an unadjusted p-value; then follow the prompts that
    differ most. With --out, a page shows the pictures of both models side by side. Nothing is generated or judged.
    """
    from t2i_core.api.resolver import installed_resolver
    from t2i_core.api.terminal import console
    from t2i_core.results.run import load_finished_run

    from .compare import check, print_comparison
    from .compare import compare as compare_models

    _check_options(how, _DATA, {"--table": table})
    one, other = (load_finished_run(run, images_from or ()) for run in (first, second))
    resolver = installed_resolver()
    found = compare_models(one, other, (a, b), resolver)
    check(found, pictures=how == "html" and out is not None)
    match how:
        case "latex" | "markdown" | "typst":
            from .papers.differences import make_difference_table
            from .papers.formats import format_paper_table
            from .tables import write_text

            write_text(format_paper_table(make_difference_table(found), how), out)
        case "csv" | "parquet" | "json":
            from .tables import write_table

            write_table(found.prompts() if table == "prompts" else found.differences(), how, out)
        case "html":
            print_comparison(found, console(), most=10)
            if out is not None:
                from .compare_page import write_comparison

                write_comparison(found, out, resolver, side, _warn)
                _print_size(out)


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
    from .analyses import print_analyses

    print_analyses(runs, option or [], out, json, images_from or [], only or [], whole)


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
    from .power.needs import print_needs, read_prices
    from .power.sample_sizes import Goal

    print_needs(runs, Goal(margin, wanted, read_prices(cost or [])), whole, as_json, out)
