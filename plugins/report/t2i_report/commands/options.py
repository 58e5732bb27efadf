"""Options that the commands share, and their messages."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from t2i_core.api.text import escape_control_characters
from t2i_core.files.byte_size import format_size

PICTURES_PANEL, TABLES_PANEL = "Pictures", "Tables"
"""Panels of options in `--help`."""

PAPER_FORMATS = ("latex", "markdown", "typst")
"""Values of `--format` that write a table for a paper."""

DATA_FORMATS = ("csv", "parquet", "json")
"""Values of `--format` that write data."""

SideOption = Annotated[
    int,
    typer.Option(
        "--side",
        min=16,
        max=1024,
        metavar="PIXELS",
        help="Maximum side of pictures in pixels.",
        rich_help_panel=PICTURES_PANEL,
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
        rich_help_panel=PICTURES_PANEL,
    ),
]


def warn(message: str) -> None:
    """Print a warning on standard error."""
    print(f"warning: {escape_control_characters(message)}", file=sys.stderr)


def print_size(page: Path) -> None:
    """Print the path and the size of a page on standard error."""
    print(f"{page} ({format_size(page.stat().st_size)})", file=sys.stderr)


FormatOption = Annotated[
    Literal["html", "latex", "markdown", "typst", "csv", "parquet", "json"],
    typer.Option(
        "--format",
        help="Write a page (html), a table for a paper (latex, markdown, typst), or data (csv, parquet, json).",
    ),
]


def check_options(how: str, formats: Sequence[str], options: Mapping[str, object]) -> None:
    """Check that options of some formats are not combined with another one.

    Raises:
        BadOption: If they are.
    """
    from t2i_core.api.errors import BadOption

    for name, value in options.items():
        if value is not None and how not in formats:
            raise BadOption(f"{name} has no effect with --format {how}; name --format {', '.join(formats)}")
