"""The list of runs: a reader's query, and the rows that answer it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from t2i_core.api.errors import BadFolder, BadOption
from t2i_core.results.run_list import ListedRun, UnreadableRun, list_runs, parse_since, select_runs
from t2i_core.results.run_progress import read_progress

from .stage_text import describe_stage

MOST_NAMES = 500
LONGEST_NAME = 200
"""Metrics and models that can be chosen: no more than that many, and none with a longer name."""

MOST_SCORES = 4
"""Scores that a row shows; the run's own page has all."""

ORDERS = ("-started", "started", "name", "-name", "status", "-score", "score")
STATUSES = ("running", "done", "failed", "interrupted", "unreadable")

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

Listed = ListedRun | UnreadableRun


def make_id(folder: Path) -> str:
    """Return the name of a run in addresses: that of its folder, or a digest if it has unusual characters."""
    name = folder.name
    return name if _PLAIN_NAME.fullmatch(name) else f"~{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def find_listed(folder: Path, id: str) -> Listed | None:
    """Return the run with a name of `make_id`; None if the folder has none."""
    return next((run for run in list_runs(folder, follow_links=False) if make_id(run.folder) == id), None)


@dataclass(frozen=True)
class RunQuery:
    """Request of a reader to the list.

    Attributes:
        text: Text that a run's name, metrics, models or reason must contain.
        metric: A metric.
        model: Name or label of a model.
        status: A status.
        since: A date or an age, as `t2i runs --since` takes it.
        order: The column that rows are sorted by, one of `ORDERS`.
    """

    text: str = ""
    metric: str = ""
    model: str = ""
    status: str = ""
    since: str = ""
    order: str = ORDERS[0]

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> RunQuery:
        """Return the query of an address; unknown statuses and orders count as not given."""
        order, status = given.get("order", ""), given.get("status", "")
        return cls(
            given.get("text", "").strip(),
            given.get("metric", ""),
            given.get("model", ""),
            status if status in STATUSES else "",
            given.get("since", "").strip(),
            order if order in ORDERS else ORDERS[0],
        )

    def order_by(self, column: str) -> str:
        """Return the address of the same list sorted by a column; the other way round if it is already."""
        descending_first = column in ("started", "score")
        orders = (f"-{column}", column) if descending_first else (column, f"-{column}")
        wanted = next((order for order in orders if order in ORDERS and order != self.order), orders[0])
        fields = asdict(replace(self, order=wanted))
        return "/?" + urlencode({name: value for name, value in fields.items() if value})


@dataclass(frozen=True)
class RunRow:
    """A row of the list.

    Attributes:
        id: Name of the run in addresses.
        run: The run.
        status: Its status.
        now: What it does at present, in words; empty unless it is running.
    """

    id: str
    run: Listed
    status: str
    now: str = ""

    @property
    def readable(self) -> ListedRun | None:
        """The run, if it can be read."""
        return self.run if isinstance(self.run, ListedRun) else None

    @property
    def reason(self) -> str:
        """Why it cannot be read, or has failed; empty for others."""
        return self.run.reason if isinstance(self.run, UnreadableRun) else self.run.failed or ""


@dataclass(frozen=True)
class RunList:
    """The answer to a query.

    Attributes:
        rows: The rows, in order.
        total: Number of runs of the folder.
        metrics: The metrics of all runs.
        models: The labels of their models.
        fault: Why a filter is not valid; empty if all are.
    """

    rows: Sequence[RunRow]
    total: int
    metrics: Sequence[str]
    models: Sequence[str]
    fault: str = ""


def answer(folder: Path, query: RunQuery) -> RunList:
    """Return the runs of a folder that a query asks for."""
    runs = list(list_runs(folder, follow_links=False))
    readable = [run for run in runs if isinstance(run, ListedRun)]
    since, fault = _parse_since(query.since)
    found: Iterable[Listed] = select_runs(runs, query.metric or None, query.model or None, since)
    if query.status:
        found = (run for run in found if _read_status(run) == query.status)
    if query.text:
        found = (run for run in found if query.text.casefold() in _write_text(run))
    rows = [
        RunRow(make_id(run.folder), run, _read_status(run), _describe_now(run))
        for run in _sort(found, query.order)
    ]
    metrics = {metric for run in readable for metric in run.metrics}
    models = {label for run in readable for label in run.models}
    return RunList(rows, len(runs), _list_names(metrics), _list_names(models), fault)


def _list_names(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if len(name) <= LONGEST_NAME)[:MOST_NAMES]


def _parse_since(text: str) -> tuple[datetime | None, str]:
    if not text:
        return None, ""
    try:
        return parse_since(text), ""
    except BadOption as error:
        return None, str(error).removeprefix("--")


def _read_status(run: Listed) -> str:
    return run.status if isinstance(run, ListedRun) else "unreadable"


def _write_text(run: Listed) -> str:
    """Return the text that is searched."""
    if isinstance(run, UnreadableRun):
        return f"{run.folder.name}\n{run.reason}".casefold()
    words = [run.name, *run.metrics, *run.models, *run.models.values(), run.failed or ""]
    return "\n".join(words).casefold()


def _describe_now(run: Listed) -> str:
    """Return what a run does at present, in words."""
    if not isinstance(run, ListedRun) or run.status != "running":
        return ""
    try:
        progress = read_progress(run.folder)
    except BadFolder as error:
        return str(error)
    stage = next((stage for stage in reversed(progress.stages) if stage.is_open), None) if progress else None
    return "" if stage is None else describe_stage(stage)


def _sort(runs: Iterable[Listed], order: str) -> list[Listed]:
    """Sort runs; those without a value come last."""
    runs, column, descending = list(runs), order.removeprefix("-"), order.startswith("-")

    def read_value(run: Listed) -> Any:
        if column == "name":
            return run.folder.name
        if column == "status":
            return _read_status(run)
        if isinstance(run, UnreadableRun):
            return None
        if column == "started":
            return run.started
        return next((score.score for score in run.scores if score.score is not None), None)

    valued = [(value, run) for run in runs if (value := read_value(run)) is not None]
    rest = [run for run in runs if read_value(run) is None]
    valued.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(run for _, run in valued), *rest]
