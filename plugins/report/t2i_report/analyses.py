"""`t2i analyze`: analyses by the metrics of stored runs, from the tables in their folders."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadFolder, MissingDependency
from t2i_core.api.resolver import installed_resolver
from t2i_core.api.study import Analysis
from t2i_core.api.terminal import console, make_table, print_json, shown, write_line
from t2i_core.files.atomic_write import replace_file
from t2i_core.files.slug import make_slug
from t2i_core.files.spreadsheet import escape_table
from t2i_core.results.analysis import analyze_run, list_metrics
from t2i_core.results.images import describe_left_out
from t2i_core.results.run import Run, load_finished_run
from t2i_core.results.score_tables import print_results

if TYPE_CHECKING:
    import pandas as pd


def print_analyses(
    folders: Sequence[Path],
    options: Sequence[str],
    out: Path | None,
    as_json: bool,
    images_from: Sequence[Path] = (),
) -> None:
    """Print the scores and analyses of runs.

    Args:
        folders: Run folders.
        options: Options of metrics, NAME.KEY=VALUE, for the analyses alone.
        out: Folder for tables (CSV) and figures (PNG); if None, nothing is written.
        as_json: Whether to print JSON.
        images_from: Folders outside the runs whose images may be shown.
    """
    resolver, data = installed_resolver(), []
    table = resolver.read_options(options)
    taken: set[str] = set()
    for folder in folders:
        run = load_finished_run(folder, images_from)
        metrics = list_metrics(run, resolver)
        found = list(analyze_run(run, metrics, resolver, table))
        for name, why in metrics.absent.items():
            write_line(f"warning: {run.path}: no analyses of {name}: {why}", err=True)
        if not found:
            write_line(f"{run.path}: {_why_nothing(run)}", err=True)
        if out is not None:
            place = out / _take_free_name(run.folder.name, taken)
            for metric, analysis in found:
                _write(place, metric, analysis)
            if any(analysis.figure for _, analysis in found) and (note := describe_left_out(run.images())):
                write_line(f"warning: {run.path}: {note}", err=True)
        if as_json:
            data.append(_to_json(run, found))
        else:
            _print(run, found)
    if as_json:
        print_json(data)


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
    import json

    records: list[dict[str, Any]] = json.loads(table.reset_index(drop=True).to_json(orient="records"))
    return records


def _print(run: Run, found: Sequence[tuple[str, Analysis]]) -> None:
    screen = console()
    screen.print(shown(run.path, "bold"))
    print_results(screen, run.results, run.comparisons)
    for metric, analysis in found:
        screen.print()
        screen.print(shown(f"{metric} {analysis.name}: {analysis.summary}"))
        table = make_table(*analysis.table.columns)
        for row in analysis.table.itertuples(index=False):
            table.add_row(*(shown(f"{v:.4g}" if isinstance(v, float) else v) for v in row))
        screen.print(table)


def _write(folder: Path, metric: str, analysis: Analysis) -> None:
    """Write one analysis.

    Raises:
        BadFolder: If the folder cannot be written.
        MissingDependency: If there is a figure and matplotlib is not installed.
    """
    stem = f"{make_slug(metric)}-{make_slug(analysis.name)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replace_file(folder / f"{stem}.csv") as part:
            escape_table(analysis.table).to_csv(part, index=False, lineterminator="\r\n")
        if analysis.figure is not None:
            with replace_file(folder / f"{stem}.png") as part:
                _draw(analysis, part)
    except OSError as error:
        raise BadFolder(f"{folder}: cannot be written ({error.strerror or error})") from error


def _draw(analysis: Analysis, path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependency("figures need matplotlib: pip install matplotlib")
    figure = importlib.import_module("matplotlib.figure").Figure(layout="constrained")
    assert analysis.figure is not None
    analysis.figure(figure.add_subplot())
    figure.savefig(path, dpi=150, format="png")
