"""Figures of a paper: the analyses that draw them, written as pictures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadFolder
from t2i_core.api.terminal import write_line
from t2i_core.files.atomic_write import replace_file
from t2i_core.files.slug import make_slug
from t2i_core.results.chart import CONVERTER
from t2i_core.results.figures import convert_to_png, draw_svg
from t2i_core.results.table_format import format_table

from .cell_values import FinishedRun, NoValue, Unmeasured
from .paper import Show

if TYPE_CHECKING:
    from t2i_core.api.study import Analysis

NO_CONVERTER = "pictures are left out; to draw them: pip install 't2i-report[figures]'"


def find_analyses(
    shows: Sequence[Show], runs: Mapping[str, FinishedRun]
) -> tuple[list[tuple[str, Analysis]], list[str], list[str]]:
    """Return the analyses of a figure with the titles of their metrics, missing files, and missing analyses.

    Args:
        shows: The analyses that draw the figure.
        runs: Finished runs by name.
    """
    found: list[tuple[str, Analysis]] = []
    missing: list[str] = []
    problems: list[str] = []
    for show in shows:
        if show.run not in runs:
            continue
        run = runs[show.run]
        name = run.fill_labels(show.analysis, show.model, show.other)
        try:
            found += run.find_analyses(name, show.metric)
        except Unmeasured as error:
            missing.append(str(error))
        except NoValue as error:
            problems.append(str(error))
    return found, missing, problems


def write_analyses(name: str, found: Sequence[tuple[str, Analysis]], folder: Path) -> list[Path]:
    """Write the tables and pictures of a figure; return the path of each picture, or of the table without one.

    Args:
        name: Name of the figure, with which file names begin.
        found: Its analyses, each with the title of its metric.
        folder: The folder; it is made if needed.

    Raises:
        BadFolder: The folder cannot be written.
    """
    draws = find_spec(CONVERTER) is not None
    if not draws and any(analysis.figure is not None for _, analysis in found):
        write_line(NO_CONVERTER, err=True)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for metric, analysis in found:
            stem = make_slug(f"{name}-{metric}-{analysis.name}")
            files = {f"{stem}.csv": format_table(analysis.table, "csv").encode("utf-8", "backslashreplace")}
            if analysis.figure is not None and draws:
                svg = draw_svg(analysis.figure, analysis.table)
                files |= {f"{stem}.svg": svg.encode(), f"{stem}.png": convert_to_png(svg)}
            for file, content in files.items():
                with replace_file(folder / file) as part:
                    part.write_bytes(content)
            written.append(folder / list(files)[-1])
    except OSError as error:
        raise BadFolder(f"{folder}: cannot be written ({error.strerror or error})") from error
    return written
