"""The runs of a folder, readable or not, with what a list of runs shows; and their selection.

Only this part of each run.json becomes Python objects, straight from its text, because a list may have a thousand
runs. A run is read again only when its run.json has changed.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ..api.errors import BadFolder, BadOption
from ..files.regular_file import MANIFEST_BYTES, is_inside, read_regular
from ..storage.manifest_file import MANIFEST
from ..storage.runs_folder import find_listed_folder as find_listed_folder
from .result import UpperBound, list_bound_labels, make_title, write_headline
from .run import find_status, load_run, make_relative
from .typed import Interval, Number, Typed

_AGE = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class UnreadableRun:
    """A run whose run.json is damaged, or comes from another version of t2i.

    Attributes:
        folder: Its folder, absolute.
        reason: The problem, in one line.
    """

    folder: Path
    reason: str


class ListedScore(Typed):
    """The headline score of one model under one metric. See `Result` for the fields."""

    metric: str
    model: str
    label: str = Field(alias="as")
    by: str | None = None
    signature: str | None = None
    score: Number | None
    ci: Interval | None
    higher_is_better: bool | None = None
    upper_bound: UpperBound | None = None
    scores: dict[str, Any] = Field(repr=False)

    @property
    def title(self) -> str:
        """The metric, with the judges if the run measures it with several."""
        return make_title(self.metric, self.by)

    @property
    def headline(self) -> str:
        """The title, with the name of the headline measure if that says more."""
        return write_headline(self.metric, self.by, self.scores)


@dataclass(frozen=True)
class ListedRun:
    """A run, with as much of it as a list shows.

    Attributes:
        folder: Its folder, absolute.
        status: `running`, `interrupted` (its process has ended without results), `done` or `failed`.
        failed: Why the run has failed, else None.
        started: Time (UTC).
        finished: Time (UTC); None before the end.
        metrics: The metrics that were requested; empty for `t2i generate`.
        models: The models' names by label.
        scores: The headline score of each model under each metric; empty before the end.
    """

    folder: Path
    status: str
    failed: str | None
    started: str
    finished: str | None
    metrics: tuple[str, ...]
    models: Mapping[str, str] = field(hash=False)
    scores: tuple[ListedScore, ...] = field(hash=False)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def path(self) -> Path:
        """Its folder for messages, as other commands take it: relative, if it lies in the working folder."""
        return make_relative(self.folder)

    @property
    def signatures(self) -> tuple[str, ...]:
        """The signature lines of its scores, each once."""
        return tuple(dict.fromkeys(score.signature for score in self.scores if score.signature))


class _Model(Typed):
    name: str


class _Request(Typed):
    metrics: list[str]


class _ListedManifest(Typed):
    """The part of run.json that a list shows. See `Manifest` for the fields."""

    plan: str
    status: Literal["running", "done", "failed"]
    failed: str | None = None
    started: str
    finished: str | None = None
    request: _Request
    models: dict[str, _Model]
    results: list[ListedScore] = Field(default_factory=list)


def list_runs(folder: str | Path, follow_links: bool = True) -> Iterator[ListedRun | UnreadableRun]:
    """Yield the run in a folder, or the runs in its direct subfolders, by name.

    Args:
        folder: The folder.
        follow_links: Whether subfolders that are links out of the folder are read.
    """
    folder = Path(folder).absolute()
    for path in [folder, *sorted(folder.glob("*"))]:
        if not follow_links and path.is_symlink() and path != folder and not is_inside(path, folder):
            yield UnreadableRun(path, f"{path}: is a link that leads out of {folder}; name its own folder instead")
            continue
        try:
            found = os.lstat(path / MANIFEST)
        except OSError:
            continue
        try:
            yield _update_status(_read_run(path, found.st_mtime_ns, found.st_size, found.st_ino))
        except (BadFolder, OSError) as error:
            yield UnreadableRun(path, str(error))


def select_runs(
    runs: Iterable[ListedRun | UnreadableRun],
    metric: str | None = None,
    model: str | None = None,
    since: datetime | None = None,
    best: bool = False,
) -> list[ListedRun | UnreadableRun]:
    """Return the runs that a user wants to see, with the scores that the user wants to see.

    Without a condition, all runs are returned; with one, only readable ones.

    Args:
        runs: The runs.
        metric: Keep the scores of this metric, and runs without scores that measure it.
        model: Keep the scores of the model with this name or label, and runs without scores that evaluate it.
        since: Keep runs that started at this time or later.
        best: Keep the best score of each metric among the scores with equal signature lines. Scores without a
            signature line are compared within their run.
    """
    if not (metric or model or since or best):
        return list(runs)
    kept = [run for run in runs if isinstance(run, ListedRun) and (since is None or _is_since(run, since))]
    kept = [each for run in kept if (each := _narrow(run, metric, model)) is not None]
    return list(_keep_best(kept) if best else kept)


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """Return the time that a user means by a date (`2026-11-20`), a time, or an age (`30m`, `12h`, `7d`, `2w`).

    Args:
        text: The date, time or age. A time without a time zone is in UTC, as run.json has it.
        now: The time from which an age counts. Default: the present.

    Raises:
        BadOption: If it is neither.
    """
    try:
        if age := _AGE.fullmatch(text):
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        return _parse_time(text)
    except (ValueError, OverflowError) as error:
        raise BadOption(
            f"--since must be a date or an age, such as 2026-11-20 or 30m, 12h, 7d, 2w (got {text!r})"
        ) from error


@lru_cache(maxsize=20_000)
def _read_run(folder: Path, modified_ns: int, size: int, inode: int) -> ListedRun:
    """Read a run; the last three arguments change with its run.json.

    Raises:
        BadFolder: If its run.json is not valid.
        OSError: If it cannot be read.
    """
    try:
        found = _ListedManifest.model_validate_json(read_regular(folder / MANIFEST, MANIFEST_BYTES, folder))
    except (ValidationError, OSError):  # the complete reader accepts more, or says why not
        data = load_run(folder).manifest.to_json()
        found = _ListedManifest.model_validate(data)
    return ListedRun(
        folder,
        found.status,
        found.failed,
        found.started,
        found.finished,
        tuple(found.request.metrics),
        {label: model.name for label, model in found.models.items()},
        tuple(found.results),
    )


def _update_status(run: ListedRun) -> ListedRun:
    """Return a run with its present status, which does not stand in run.json."""
    return replace(run, status=find_status(run.folder, run.status)) if run.status == "running" else run


def _parse_time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _is_since(run: ListedRun, since: datetime) -> bool:
    try:
        return _parse_time(run.started) >= since
    except ValueError:
        return False


def _narrow(run: ListedRun, metric: str | None, model: str | None) -> ListedRun | None:
    """Return a run with the scores of a metric and a model; None if it has nothing to do with them."""
    scores = tuple(
        score
        for score in run.scores
        if (metric is None or metric in (score.metric, score.title, score.headline))
        and (model is None or model in (score.model, score.label))
    )
    if scores or (metric is None and model is None):
        return replace(run, scores=scores)
    asked = (metric is None or metric in run.metrics) and (
        model is None or model in (*run.models, *run.models.values())
    )
    return replace(run, scores=()) if asked and not run.scores else None


def _keep_best(runs: Iterable[ListedRun]) -> Iterator[ListedRun]:
    """Yield the runs that have the best score of a metric, with these scores alone."""
    runs = list(runs)
    best: dict[tuple[str, str | Path], float] = {}
    for run in runs:
        for group, value in _list_merits(run).values():
            best[group] = max(best.get(group, -math.inf), value)
    for run in runs:
        merits = _list_merits(run)
        kept = tuple(s for n, s in enumerate(run.scores) if n in merits and merits[n][1] == best[merits[n][0]])
        if kept:
            yield replace(run, scores=kept)


def _list_merits(run: ListedRun) -> dict[int, tuple[tuple[str, str | Path], float]]:
    """Return, for each score by its number, what it is compared with and its value, the higher the better.

    Scores of upper bounds, and of measures of which neither end is better, are left out.
    """
    bounds = list_bound_labels(run.scores)
    return {
        n: ((each.title, each.signature or run.folder), each.score if each.higher_is_better else -each.score)
        for n, each in enumerate(run.scores)
        if each.score is not None and each.higher_is_better is not None and each.label not in bounds
    }
