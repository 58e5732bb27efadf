"""`t2i analyze`: analyses by the metrics of stored runs, from the tables in their folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, count, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadFolder, UnknownName
from t2i_core.api.figure import Mosaic
from t2i_core.api.resolver import installed_resolver
from t2i_core.api.study import Analysis
from t2i_core.api.terminal import console, print_json, shown, write_line
from t2i_core.files.atomic_write import replace_file
from t2i_core.files.slug import make_slug
from t2i_core.results.analysis import analyze_run, list_metrics
from t2i_core.results.chart import CONVERTER
from t2i_core.results.figures import convert_to_png, draw_svg
from t2i_core.results.images import describe_left_out
from t2i_core.results.run import Run, load_finished_run
from t2i_core.results.score_tables import print_results
from t2i_core.results.table_format import format_table, print_table

if TYPE_CHECKING:
    import pandas as pd

TELLING = 3
"""Number of tables of each metric that are printed unless the user asks for more: its first, the most telling."""

MOST_ROWS = 24
"""Number of rows of each of them."""

Found = Sequence[tuple[str, Analysis]]
"""Analyses of a run, each with the name of its metric."""


def print_analyses(
    folders: Sequence[Path],
    options: Sequence[str],
    out: Path | None,
    as_json: bool,
    images_from: Sequence[Path] = (),
    only: Sequence[str] = (),
    whole: bool = False,
) -> None:
    """Print the scores and analyses of runs.

    Args:
        folders: Run folders.
        options: Options of metrics, NAME.KEY=VALUE, for the analyses alone.
        out: Folder for tables (CSV) and figures (SVG and PNG); if None, nothing is written.
        as_json: Whether to print JSON.
        images_from: Folders outside the runs whose images may be shown.
        only: Names of the analyses to print and write; all if empty.
        whole: Print every table with all its rows.

    Raises:
        UnknownName: If no run has an analysis of a name in `only`.
    """
    resolver = installed_resolver()
    table = resolver.read_options(options)
    runs: list[tuple[Run, Found]] = []
    for folder in folders:
        run = load_finished_run(folder, images_from)
        metrics = list_metrics(run, resolver)
        runs.append((run, list(analyze_run(run, metrics, resolver, table))))
        for name, why in metrics.absent.items():
            write_line(f"warning: {run.path}: no analyses of {name}: {why}", err=True)
        if not runs[-1][1]:
            write_line(f"{run.path}: {_why_nothing(run)}", err=True)
    if only:
        runs = _select(runs, only)
    if out is not None:
        _write_runs(runs, out)
    if as_json:
        print_json([_to_json(run, found) for run, found in runs])
        return
    for run, found in runs:
        _print(run, found, whole or bool(only))


def _select(runs: Sequence[tuple[Run, Found]], only: Sequence[str]) -> list[tuple[Run, Found]]:
    """Return the analyses with these names, as they are printed or as in the names of files."""
    wanted = {make_slug(name): name for name in only}
    known = {make_slug(each.name): each.name for _, found in runs for _, each in found}
    for slug, name in wanted.items():
        if slug not in known:
            names = list(known.values())
            raise UnknownName.among("analysis", name, names, f"of these runs: {', '.join(names) or 'none'}")
    return [(run, [(m, each) for m, each in found if make_slug(each.name) in wanted]) for run, found in runs]


def _write_runs(runs: Sequence[tuple[Run, Found]], out: Path) -> None:
    """Write the analyses of runs, a folder for each run. One line says how to get figures that are left out."""
    taken: set[str] = set()
    drawing = find_spec(CONVERTER) is not None
    for run, found in runs:
        place = out / _take_free_name(run.folder.name, taken)
        for metric, analysis in found:
            _write(place, metric, analysis, drawing)
        mosaics = any(isinstance(analysis.figure, Mosaic) for _, analysis in found)
        if mosaics and drawing and (note := describe_left_out(run.images())):
            write_line(f"warning: {run.path}: {note}", err=True)
    if not drawing and any(analysis.figure for _, found in runs for _, analysis in found):
        write_line("figures are left out; to draw them: pip install 't2i-report[figures]'", err=True)


def _why_nothing(run: Run) -> str:
    if run.results and len(run.measurements()):
        return "its metrics have no analyses"
    if run.failed:
        return f"the run has failed and measured nothing: {run.failed}"
    return "the run measured nothing; failures.csv says why, sample by sample"


def _take_free_name(name: str, taken: set[str]) -> str:
    """Return a name that no other run has, with a number if needed, and add it to the names taken."""
    free = next(n for n in chain([name], (f"{name}-{number}" for number in count(2))) if n not in taken)
    taken.add(free)
    return free


def _to_json(run: Run, found: Sequence[tuple[str, Analysis]]) -> dict[str, Any]:
    return {
        **run.to_json(),
        "analyses": [
            {"metric": metric, "name": a.name, "summary": a.summary, "table": _records(a.table)}
            for metric, a in found
        ],
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as data for JSON; NaN becomes None."""
    records: list[dict[str, Any]] = json.loads(table.reset_index(drop=True).to_json(orient="records"))
    return records


def _print(run: Run, found: Found, whole: bool) -> None:
    screen = console()
    screen.print(shown(run.path, "bold"))
    print_results(screen, run.results, run.comparisons)
    for metric, own in groupby(found, key=lambda pair: pair[0]):
        analyses = [analysis for _, analysis in own]
        for analysis in analyses if whole else analyses[:TELLING]:
            screen.print()
            screen.print(shown(f"{metric} {analysis.name}: {analysis.summary}"))
            screen.print(print_table(analysis.table, None if whole else MOST_ROWS))
            if not whole and len(analysis.table) > MOST_ROWS:
                more = len(analysis.table) - MOST_ROWS
                screen.print(shown(f'{more} more rows: --only "{analysis.name}"', "dim"))
        if not whole and len(analyses) > TELLING:
            screen.print()
            screen.print(shown(f"{metric} also has: {', '.join(a.name for a in analyses[TELLING:])}"))
            screen.print(shown('to print one: --only "NAME"; all: --all', "dim"))


def _write(folder: Path, metric: str, analysis: Analysis, drawing: bool) -> None:
    """Write the table of an analysis, and its figure if it has one and figures can be drawn.

    Raises:
        BadFolder: If the folder cannot be written.
    """
    stem = f"{make_slug(metric)}-{make_slug(analysis.name)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _make_files(stem, analysis, drawing):
            with replace_file(folder / name) as part:
                part.write_bytes(content)
    except OSError as error:
        raise BadFolder(f"{folder}: cannot be written ({error.strerror or error})") from error


def _make_files(stem: str, analysis: Analysis, drawing: bool) -> Iterator[tuple[str, bytes]]:
    yield f"{stem}.csv", format_table(analysis.table, "csv").encode("utf-8", "backslashreplace")
    if analysis.figure is not None and drawing:
        svg = draw_svg(analysis.figure, analysis.table)
        yield f"{stem}.svg", svg.encode()
        yield f"{stem}.png", convert_to_png(svg)
