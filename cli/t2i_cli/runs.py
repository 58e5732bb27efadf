"""`t2i runs`: the runs in a folder with their scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from t2i_core.errors import BadFolder
from t2i_core.numbers import interval, number
from t2i_core.runs import Run
from t2i_core.runs import list_runs as stored_runs

from .terminal import console, print_json, shown

#: Where runs go that are given no folder of their own.
DEFAULT = Path("t2i-runs")


def list_runs(named: Path | None, as_json: bool) -> None:
    """Print the runs of a folder. Raises BadFolder where one is named that is none."""
    folder = named or DEFAULT
    if named and not named.is_dir():
        raise BadFolder(f"{named}: is no folder; name one that holds runs")
    runs = list(stored_runs(folder))
    if as_json:
        print_json([_row(run) for run in runs])
        return
    if not runs:
        print(f"no runs in {folder}")
        return
    _print_table(runs)


def _row(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "run": str(run.folder),
        "status": run.status,
        "started": manifest.get("started"),
        "finished": manifest.get("finished"),
        "scores": [
            {key: result[key] for key in ("metric", "as", "score", "ci")} for result in run.results["results"]
        ],
    }


def _print_table(runs: list[Run]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "status", "started", "metric", "model", "score", "95 % interval"):
        table.add_column(column, overflow="fold")
    for run in runs:
        head = run.folder.name, run.status, (run.manifest.get("started") or "?")[:16]
        for line in _scores(run):
            table.add_row(*map(shown, (*head, *line)))
            head = "", "", ""
    console().print(table)


def _scores(run: Run) -> Iterator[tuple[str, str, str, str]]:
    """A run's scores, one line each; one empty line where it has none."""
    results = run.results["results"]
    for result in results:
        yield result["metric"], result["as"], number(result["score"]), interval(result["ci"])
    if not results:
        yield "", "", "", ""
