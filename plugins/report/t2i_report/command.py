"""The commands `t2i report` and `t2i compare`. Each one's work is imported when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

report_app = typer.Typer(add_completion=False)
compare_app = typer.Typer(add_completion=False)

SideOption = Annotated[
    int, typer.Option("--side", min=16, max=1024, metavar="PIXELS", help="Of the longer side of pictures.")
]


def _warn(message: str) -> None:
    from t2i_core.texts import visible

    print(f"warning: {visible(message)}", file=sys.stderr)


@report_app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders (see t2i runs).")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="Where the page goes.")] = Path(
        "report.html"
    ),
    side: SideOption = 160,
) -> None:
    """Write runs as one HTML file: scores, analyses, failures, and a gallery of the images."""
    from t2i_core.resolving import installed_resolver
    from t2i_core.runs import finished_run

    from .report import write_report

    write_report([finished_run(folder) for folder in runs], out, installed_resolver(), side, _warn)
    print(f"{out} ({out.stat().st_size / 1e6:.1f} MB)")
