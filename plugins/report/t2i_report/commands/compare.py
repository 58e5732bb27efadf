"""Command `t2i compare`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.command import write_examples

from .options import (
    DATA_FORMATS,
    FormatOption,
    ImagesFromOption,
    SideOption,
    check_options,
    print_size,
    warn,
)

compare_app = typer.Typer(add_completion=False)


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

    from ..compare import check, print_comparison
    from ..compare import compare as compare_models

    check_options(how, DATA_FORMATS, {"--table": table})
    one, other = (load_finished_run(run, images_from or ()) for run in (first, second))
    resolver = installed_resolver()
    found = compare_models(one, other, (a, b), resolver)
    check(found, pictures=how == "html" and out is not None)
    match how:
        case "latex" | "markdown" | "typst":
            from ..papers.differences import make_difference_table
            from ..papers.formats import format_paper_table
            from ..tables import write_text

            write_text(format_paper_table(make_difference_table(found), how), out)
        case "csv" | "parquet" | "json":
            from ..tables import write_table

            write_table(found.prompts() if table == "prompts" else found.differences(), how, out)
        case "html":
            print_comparison(found, console(), most=10)
            if out is not None:
                from ..compare_page import write_comparison

                write_comparison(found, out, resolver, side, warn)
                print_size(out)
