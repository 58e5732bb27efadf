"""The scores of runs that may stand on a board, and those that may not, with the reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.errors import BadFolder, T2IError
from t2i_core.api.metric import PairMetric, SetMetric
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent, Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.compared_model import ComparedModel, categorize, select_rows
from t2i_core.results.manifest import ModelRecord
from t2i_core.results.result import Result, list_bound_labels
from t2i_core.results.run import Run, load_finished_run
from t2i_core.results.score_difference import (
    StoredScoring,
    compute_headline,
    make_stored_scoring,
    select_whole_sets,
)

from .conditions import Conditions, read_conditions

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither end is better"}
"""Which scores are better, in words."""


@dataclass(frozen=True)
class StoredRun(Run):
    """A run whose tables are read once."""

    @cached_property
    def _measured(self) -> pd.DataFrame:
        return super().measurements()

    @cached_property
    def _sampled(self) -> pd.DataFrame:
        return super().samples()

    def measurements(self) -> pd.DataFrame:
        """Return one row per measured value. See `Run.measurements`."""
        return self._measured

    def samples(self) -> pd.DataFrame:
        """Return one row per image. See `Run.samples`."""
        return self._sampled


@dataclass(frozen=True)
class BoardEntry:
    """The score of a model under a metric, of one run.

    Attributes:
        run: The run.
        result: The score.
        metric: The metric, created again with the run's options.
        scoring: The rules of its scores.
        conditions: The conditions of the measurement.
    """

    run: Run
    result: Result
    metric: ResolvedComponent[MetricInfo]
    scoring: StoredScoring
    conditions: Conditions

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
    def is_recomputed(self) -> bool:
        """True if the score is checked against the run's measured values; those of pairs of models are not."""
        return not isinstance(self.scoring.instance, PairMetric)

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
        return self.date, self.run.folder.name


@dataclass(frozen=True)
class LeftOut:
    """A run or a score that no board shows.

    Attributes:
        run: The run's folder, as messages name it.
        reason: Why.
        metric: The metric; None if it is about the whole run.
        model: The model; None if it is about the whole run.
        command: The command that measures the model under the conditions of the board; empty if none is known.
    """

    run: Path
    reason: str
    metric: str | None = None
    model: str | None = None
    command: str = ""

    @property
    def what(self) -> str:
        """The run, with metric and model."""
        parts = (self.run.name, self.metric, self.model)
        return ", ".join(part for part in parts if part is not None)


def read_runs(folders: Iterable[Path], images_from: Sequence[Path] = ()) -> tuple[list[Run], list[LeftOut]]:
    """Read runs through their typed schema; those that have not ended, have failed or cannot be read are left out.

    Args:
        folders: The runs' folders.
        images_from: Folders outside the runs whose images may be read, too.
    """
    runs: dict[Path, Run] = {}
    left_out = []
    for folder in folders:
        try:
            found = load_finished_run(folder, images_from)
        except BadFolder as error:
            left_out.append(LeftOut(folder, str(error)))
            continue
        if found.failed is not None:
            left_out.append(LeftOut(found.path, f"the run failed: {found.failed}"))
        elif not found.results:
            left_out.append(LeftOut(found.path, "the run has no scores"))
        else:
            runs[found.folder] = StoredRun(found.folder, found.manifest, images_from=found.images_from)
    return list(runs.values()), left_out


def list_entries(run: Run, resolver: Resolver[Any]) -> Iterator[BoardEntry | LeftOut]:
    """Yield the scores of a run, and those that no board may show.

    Each headline score is computed again from the measured values, because the run may come from somebody else.
    """
    metrics = list_metrics(run, resolver)
    bounds = list_bound_labels(run.results)
    for result in run.results:
        if result.label in bounds:
            continue
        try:
            yield _make_entry(run, result, metrics.made.get(result.metric), metrics.absent.get(result.metric))
        except T2IError as error:
            yield LeftOut(run.path, str(error), result.title, result.label)


def _make_entry(
    run: Run, result: Result, metric: ResolvedComponent[MetricInfo] | None, absent: str | None
) -> BoardEntry:
    """Return a score as an entry. Raises T2IError if no board may show it."""
    if metric is None:
        raise BadFolder(absent or "the run does not record its metric")
    if result.score is None:
        raise BadFolder("no sample has a value")
    if not result.signature:
        raise BadFolder("the run has no signature line, because an earlier version of t2i wrote it; repeat it")
    scoring = make_stored_scoring(metric)
    own, metrics = result.higher_is_better, scoring.measures[0].higher_is_better
    if own != metrics:
        raise BadFolder(
            f"the run records that {DIRECTIONS[own]}, but of this metric {DIRECTIONS[metrics]}; the run or the "
            "metric was changed"
        )
    if not isinstance(scoring.instance, PairMetric):
        _check_score(run, result, scoring)
    whole = isinstance(scoring.instance, SetMetric | PairMetric) or scoring.instance.rows_depend_on_prompts
    return BoardEntry(run, result, metric, scoring, read_conditions(result.signature, metric.dist, whole))


def _check_score(run: Run, result: Result, scoring: StoredScoring) -> None:
    """Raise BadFolder unless the run's measured values give the score that it records."""
    own = categorize(select_rows(ComparedModel(run, result.label, result.label, result.by), result.metric))
    if own.empty:
        raise BadFolder("the run has no measured values of this score")
    _check_rows(run, own, scoring)
    again = compute_headline(scoring, own)
    if not isclose(again, result.score or 0.0, rel_tol=1e-6, abs_tol=1e-9):
        raise BadFolder(
            f"the run records the score {result.score:.6g}, but its measured values give {again:.6g}; the run or "
            "the metric was changed"
        )


def _check_rows(run: Run, own: pd.DataFrame, scoring: StoredScoring) -> None:
    """Raise BadFolder if rows lack what scores and comparisons are computed from."""
    file = run.path / "measurements.csv"
    of_sets = isinstance(scoring.instance, SetMetric)
    wanted = ("left_out", "seeds") if of_sets else ("prompt", "cluster")
    for name in wanted:
        if name not in own or (own[name].isna().any() and not of_sets):
            raise BadFolder(f"{file}: rows of this score have no {name}")
    if of_sets:
        blocks = list(select_whole_sets(own[own["measure"] == scoring.measures[0].name])["left_out"])
        if "none" not in blocks or len(set(blocks)) != len(blocks):
            raise BadFolder(f"{file}: this score does not have one row of all images and one of each block")
