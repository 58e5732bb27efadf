"""The command `t2i reproduce`. It imports its implementation when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.command import runs_evaluations, write_examples

app = typer.Typer(add_completion=False)


@app.command(
    epilog=write_examples(
        "t2i reproduce --list",
        "t2i reproduce hypernymy-1 --dry-run",
        "t2i reproduce tiam-1 --mini",
        't2i reproduce dalleval-8 --row "minDALL-E=folder:my-images"',
    )
)
@runs_evaluations
def reproduce(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Tables, figures or whole papers (see --list), or YAML files with your own."
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the tables and figures of these papers, or of all.")
    ] = False,
    mini: Annotated[
        bool,
        typer.Option("--mini", help="Run the mini world's version, which needs no GPU; compares with no paper."),
    ] = False,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row",
            metavar="NAME[=MODEL]",
            help="Run only this row, with another generator or your images if given. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the runs and the files of figures.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print images, judge calls and GPU hours, and stop.")
    ] = False,
    page: Annotated[
        Literal["text", "md", "latex", "csv", "html"], typer.Option("--format", help="Format of the tables.")
    ] = "text",
    json: Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")] = False,
) -> None:
    """Measure a paper's tables and figures again, and print the measured values beside the printed ones."""
    from .paper_list import find_entries, print_list

    if list_:
        print_list(names or [], context.obj.resolver, json)
        return
    if not names:
        context.fail("name a table or figure (t2i reproduce --list shows them) or a YAML file with your own")
    from .entry_results import measure_entries
    from .output import print_plans, print_results
    from .reproduction import plan_reproductions

    how = "json" if json else page
    evaluator = context.obj
    plans = plan_reproductions(find_entries(names, evaluator.resolver), row or [], mini)
    if dry_run:
        print_plans(plans, evaluator, how)
        return
    measurements = [measure_entries(plan, evaluator, out, how != "text") for plan in plans]
    results = [measurement.list_results() for measurement in measurements]
    print_results([each for several in results for each in several], how, out or Path("t2i-runs"))
    for measurement, own in zip(measurements, results, strict=True):
        measurement.raise_failures(own)
