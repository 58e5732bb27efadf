"""The scores of runs that may stand on a board, and those that may not, with the reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadFolder, T2IError
from t2i_core.api.metric import PairMetric, SetMetric
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent, Resolver
from t2i_core.api.text import fit_one_line
from t2i_core.results.analysis import StoredMetrics, list_metrics
from t2i_core.results.manifest import ModelRecord
from t2i_core.results.result import Result, list_bound_labels
from t2i_core.results.run import Run, load_finished_run, make_relative
from t2i_core.results.run_list import UnreadableRun, find_listed_folder, list_runs
from t2i_core.results.score_difference import StoredScoring, make_stored_scoring

from .conditions import Conditions, read_conditions
from .named_run import NamedRun, name_folders
from .option_safety import find_local_path, is_local_path
from .sample_checks import CHANGED
from .score_checks import check_pairs, check_score

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither end is better"}
"""Which scores are better, in words."""


@dataclass(frozen=True)
class BoardEntry:
    """The score of a model under a metric, of one run.

    Attributes:
        run: The run.
        result: The score.
        metric: The metric, created again with the run's options.
        scoring: The rules of its scores.
        conditions: The conditions of the measurement.
        unchecked: Why its prompts cannot be checked against its signature line; empty if they are those.
    """

    run: NamedRun
    result: Result
    metric: ResolvedComponent[MetricInfo]
    scoring: StoredScoring
    conditions: Conditions
    unchecked: str = ""

    @property
    def model(self) -> ModelRecord:
        """The model, as the run records it."""
        return self.run.manifest.models[self.result.label]

    @property
    def identity(self) -> str:
        """The model and its settings; the same in all runs that measure it."""
        changed = self.model.perturbation
        settings = {str(key): value for key, value in self.result.settings.items()}
        return json.dumps([self.result.model, settings, changed and changed.name], sort_keys=True, default=str)

    @property
    def higher_is_better(self) -> bool | None:
        """True if higher scores are better, as the metric says; None if neither end is."""
        return self.scoring.measures[0].higher_is_better

    @property
    def judges(self) -> list[str]:
        """Its judges as `--judge` takes them."""
        wanted = {need.name: need.capability for need in self.scoring.instance.needs}
        judges = (judge for judge in self.result.judges if judge.name != "the model itself")
        named = ((judge.capability or wanted.get(judge.need), judge.name) for judge in judges)
        return list(dict.fromkeys(f"{capability}={name}" if capability else name for capability, name in named))

    @property
    def date(self) -> str:
        """The time at which its run started (UTC)."""
        return self.run.manifest.started

    @property
    def order(self) -> tuple[str, str]:
        """The key by which entries are sorted, the oldest first."""
        return self.date, self.run.name


@dataclass(frozen=True)
class LeftOut:
    """A run or a score that no board shows.

    Attributes:
        run: The run's name.
        reason: Why.
        metric: The metric; None if it is about the whole run.
        model: The model; None if it is about the whole run.
        command: The command that measures the model under the conditions of the board; empty if none is known.
    """

    run: str
    reason: str
    metric: str | None = None
    model: str | None = None
    command: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", fit_one_line(self.reason))  # it may have texts of the run

    @property
    def what(self) -> str:
        """The run, with metric and model."""
        parts = (self.run, self.metric, self.model)
        return ", ".join(part for part in parts if part is not None)


def read_runs(folders: Iterable[Path], images_from: Sequence[Path] = ()) -> tuple[list[NamedRun], list[LeftOut]]:
    """Read runs through their typed schema; those that have not ended, have failed or cannot be read are left out.

    Args:
        folders: The runs' folders, or folders that hold runs.
        images_from: Folders outside the runs whose images may be read, too.
    """
    runs: dict[Path, Run] = {}
    refused: dict[Path, str] = {}
    for listed in _list_folders(folders):
        folder = listed.folder if isinstance(listed, UnreadableRun) else listed
        try:
            if isinstance(listed, UnreadableRun):
                raise BadFolder(listed.reason)
            found = load_finished_run(folder, images_from)
        except BadFolder as error:
            refused[folder.absolute()] = _describe_error(error, folder, make_relative(folder.absolute()))
            continue
        if found.failed is not None:
            refused[found.folder] = f"the run failed: {found.failed}"
        elif not found.results:
            refused[found.folder] = "the run has no scores"
        else:
            runs[found.folder] = found
    names = name_folders({*runs, *refused})
    stored = [NamedRun(f, run.manifest, images_from=run.images_from, name=names[f]) for f, run in runs.items()]
    return stored, [LeftOut(names[folder], reason) for folder, reason in refused.items()]


def _list_folders(folders: Iterable[Path]) -> Iterator[Path | UnreadableRun]:
    """Yield each run that a user named, and the runs of each folder that holds runs and is none itself."""
    for named in folders:
        try:
            folder = find_listed_folder(named)
        except BadFolder as error:
            yield UnreadableRun(named, str(error))
            continue
        inside = list(list_runs(folder, follow_links=False))
        if not inside or any(run.folder == folder.absolute() for run in inside):
            yield folder
        else:
            yield from (run if isinstance(run, UnreadableRun) else run.folder for run in inside)


def _describe_error(error: T2IError, *named: Path) -> str:
    """Return an error without the path of its run at the beginning, because its list names the run already."""
    message = str(error)
    for path in named:
        rest = message.removeprefix(str(path))
        if rest != message and rest[:1] in (":", "/", "\\"):
            return rest[1:].lstrip()
    return message


def list_entries(run: NamedRun, resolver: Resolver[Any]) -> Iterator[BoardEntry | LeftOut]:
    """Yield the scores of a run, and those that no board may show.

    Recorded scores are recomputed from the run's tables, because the run may come from somebody else.
    """
    metrics = list_metrics(run, resolver)
    together: dict[tuple[str, str | None], list[Result]] = {}
    for result in run.results:
        together.setdefault((result.metric, result.by), []).append(result)
    for results in together.values():
        yield from _list_scores(run, results, metrics)


def _list_scores(
    run: NamedRun, results: Sequence[Result], metrics: StoredMetrics
) -> Iterator[BoardEntry | LeftOut]:
    """Yield the scores of all models under one metric and its judges, except those that only give upper bounds."""
    name, bounds = results[0].metric, list_bound_labels(run.results)
    shown = [result for result in results if result.label not in bounds]
    try:
        metric, scoring = _make_scoring(name, metrics)
        in_pairs = isinstance(scoring.instance, PairMetric)
        run, checked, unchecked = check_pairs(run, results, scoring) if in_pairs else (run, {}, "")
    except T2IError as error:
        reason = _describe_error(error, run.path)
        yield from (LeftOut(run.name, reason, result.title, result.label) for result in shown)
        return
    for result in shown:
        try:
            if result.score is None:
                raise BadFolder("no sample has a value")
            if not in_pairs:
                checked[result.label], unchecked = check_score(run, result, scoring)
            yield _make_entry(run, checked[result.label], metric, scoring, unchecked)
        except T2IError as error:
            yield LeftOut(run.name, _describe_error(error, run.path), result.title, result.label)


def _make_scoring(name: str, metrics: StoredMetrics) -> tuple[ResolvedComponent[MetricInfo], StoredScoring]:
    """Return a metric of a run and the rules of its scores.

    Raises:
        T2IError: If it cannot be made. If the run names a file for it, nothing of the file is told, because it may
            be another one than a metric's, and a site is public.
    """
    try:
        if (metric := metrics.made.get(name)) is None:
            raise BadFolder(metrics.absent.get(name, "the run does not record its metric"))
        return metric, make_stored_scoring(metric)
    except T2IError as error:
        if is_local_path(name.partition(":")[2]) or find_local_path(metrics.recorded.get(name, {})):
            raise BadFolder(f"the metric {name} cannot be made from the files that it names") from error
        raise


def _make_entry(
    run: NamedRun, result: Result, metric: ResolvedComponent[MetricInfo], scoring: StoredScoring, unchecked: str
) -> BoardEntry:
    """Return a checked score as an entry. Raises BadFolder if no board may show it."""
    own, metrics = result.higher_is_better, scoring.measures[0].higher_is_better
    if own != metrics:
        raise BadFolder(
            f"the run records that {DIRECTIONS[own]}, but for this metric {DIRECTIONS[metrics]}; {CHANGED}"
        )
    whole = isinstance(scoring.instance, SetMetric | PairMetric) or scoring.instance.rows_depend_on_prompts
    conditions = read_conditions(result.signature or "", metric.dist, whole)
    return BoardEntry(run, result, metric, scoring, conditions, unchecked)
