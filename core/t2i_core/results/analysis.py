"""Analyses that a run's metrics make of its stored tables, beyond the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api.errors import BadFolder, BadOption, T2IError, UnknownName
from ..api.metric_output import Measure
from ..api.options import select_result_options
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import MetricInfo
from ..api.resolver import OptionTable, ResolvedComponent, Resolver
from ..api.study import Analysis, Study
from ..api.text import shorten_paths
from ..files.regular_file import TABLE_BYTES, open_regular
from .images import find_images
from .result import make_title
from .run import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StoredMetrics:
    """The metrics of a run, created again with the options that they had.

    Attributes:
        made: The metrics, by their names in the run's tables.
        recorded: The options of the run as plain data, by name.
        absent: Why the other metrics are not available, by name.
    """

    made: Mapping[str, ResolvedComponent[MetricInfo]]
    recorded: Mapping[str, Mapping[str, Any]]
    absent: Mapping[str, str] = field(default_factory=dict)


def list_metrics(run: Run, resolver: Resolver[Any]) -> StoredMetrics:
    """Create the metrics of a run's results again. One that is no longer installed does not affect the others."""
    scored = {result.metric for result in run.results}
    made: dict[str, ResolvedComponent[MetricInfo]] = {}
    recorded: dict[str, Mapping[str, Any]] = {}
    absent: dict[str, str] = {}
    for part in run.manifest.components:
        if part.kind != "metric":
            continue
        name = part.name
        recorded[name] = part.options
        if name not in scored:
            continue
        try:
            component = resolver.component("metric", name, {_make_key(name): part.options})
            _check_files(component)
            made[name] = component
        except T2IError as error:
            absent[name] = str(error)
    return StoredMetrics(made, recorded, absent)


def _check_files(metric: ResolvedComponent[MetricInfo]) -> None:
    """Check the files that a run's options name, because the run may come from somebody else.

    Raises:
        BadFolder: If one is neither a folder nor a regular file of bounded size.
    """
    for key, value in metric.options:
        for path in value if isinstance(value, tuple) else (value,):
            if not isinstance(path, Path):
                continue
            try:
                if not path.is_dir():
                    open_regular(path, TABLE_BYTES).close()
            except FileNotFoundError:
                continue  # the metric reports it, if it reads the file
            except OSError as error:
                raise BadFolder(f"{metric.spec}: option {key}: {path}: {error.strerror}") from error


def analyze_run(
    run: Run,
    metrics: StoredMetrics,
    resolver: Resolver[Any],
    options: OptionTable | None = None,
    failing: Callable[[str, T2IError], None] | None = None,
) -> Iterator[tuple[str, Analysis]]:
    """Yield the analyses that each metric makes of a finished run, with the metric's name.

    Args:
        run: The run.
        metrics: Its metrics.
        resolver: Finds components by name.
        options: Options of metrics, for their analyses alone.
        failing: Receives the name of each metric whose analyses fail, with the error; the others go on. If None,
            the error is raised.

    Raises:
        UnknownName: If an option is for another metric.
        BadOption: If an option was already set when the run was measured.
    """
    options = options or {}
    _check_names(run, metrics, options)
    if not run.results:
        return
    tables = _RunTables.read(run, metrics)
    for name, made in metrics.made.items():
        made = _apply_options(name, made, metrics.recorded[name], options, resolver)
        for by in dict.fromkeys(result.by for result in run.results if result.metric == name):
            study = tables.make_study(name, by)
            if study is None:  # all its samples failed
                continue
            title = make_title(name, by)
            try:
                for analysis in _analyze(made, study):
                    yield title, analysis
            except T2IError as error:
                if failing is None:
                    raise
                failing(title, error)


def _check_names(run: Run, metrics: StoredMetrics, options: OptionTable) -> None:
    """Raise UnknownName if an option is for a metric that the run does not have."""
    known = [_drop_argument(name) for name in metrics.recorded]
    for key in options:
        if key.removeprefix("metric:") not in known:
            raise UnknownName.among("metric", key, known, f"of {run.path}: {', '.join(known)}")


def _apply_options(
    name: str,
    made: ResolvedComponent[MetricInfo],
    recorded: Mapping[str, Any],
    options: OptionTable,
    resolver: Resolver[Any],
) -> ResolvedComponent[MetricInfo]:
    """Return a metric with the options given for its analyses.

    Raises:
        BadOption: If an option was already set when the run was measured.
    """
    given = {**options.get(_drop_argument(name), {}), **options.get(_make_key(name), {})}
    if not given:
        return made
    again: ResolvedComponent[MetricInfo] = resolver.component(
        "metric", name, {_make_key(name): {**recorded, **given}}
    )
    if select_result_options(again.options) != select_result_options(made.options):
        raise BadOption(
            f"{name}: {', '.join(given)}: the run was already measured with this option; "
            "to change it, give it to t2i eval"
        )
    return again


@dataclass(frozen=True)
class _RunTables:
    """The tables and models of a run, which all its studies share.

    Attributes:
        run: The run.
        measurements: Its measurement table.
        samples: The table of its samples.
        settings: The options in which its models differ, by model and option.
        generators: Each model's generator, as the user names it.
        measures: The measures of each metric.
    """

    run: Run
    measurements: pd.DataFrame
    samples: pd.DataFrame
    settings: Mapping[str, Mapping[str, Any]]
    generators: Mapping[str, str]
    measures: Mapping[str, Sequence[Measure]]

    @classmethod
    def read(cls, run: Run, metrics: StoredMetrics) -> _RunTables:
        """Read the tables of a run."""
        models = run.manifest.models
        varied = dict.fromkeys(key for model in models.values() for key in model.settings)
        settings = {
            label: {
                key: value
                for key in varied
                if (value := model.options.get(key, model.settings.get(key))) is not None
            }
            for label, model in models.items()
        }
        generators = {
            label: model.name if model.argument is None else shorten_paths(f"{model.name}:{model.argument}")
            for label, model in models.items()
        }
        measures = {name: made.info.measures for name, made in metrics.made.items()}
        return cls(run, run.measurements(), run.samples(), settings, generators, measures)

    def make_study(self, name: str, by: str | None) -> Study | None:
        """Return a metric's study by one judge; None if it measured nothing."""
        table, run = self.measurements, self.run
        own = table["metric"] == name
        others = ~own  # other judges of this metric are not other metrics
        if "by" in table:
            judged_by = table["metric"].map(_choose_judges(run, by))
            own &= table["by"].isna() | (table["by"] == by)
            others &= table["by"].isna() | (table["by"] == judged_by)
        if not own.any():
            return None
        return Study(
            _select(table, own).drop(columns="metric"),
            self.samples,
            run.folder,
            _select(table, others) if others.any() else None,
            self.settings,
            run.manifest.request.interval,
            _find_floors(run, name, by),
            self.measures,
            partial(find_images, self.samples, run.folder, run.images_from),
            self.generators,
            by,
        )


def _select(table: pd.DataFrame, rows: pd.Series) -> pd.DataFrame:
    """Return rows of a measurement table, without the judge and without columns that are empty in them."""
    return table[rows].drop(columns="by", errors="ignore").dropna(axis="columns", how="all")


def _analyze(made: ResolvedComponent[MetricInfo], study: Study) -> Iterator[Analysis]:
    with guard_plugin(made, "to be made"):
        analyses = iter(made.info.create(made.setup()).analyses(study))
    while True:
        with guard_plugin(made, "to analyse a run"):
            analysis = next(analyses, None)
        if analysis is None:
            return
        yield analysis


def _choose_judges(run: Run, by: str | None) -> dict[str, str | None]:
    """Return for each metric the judges whose rows go beside those by these: the same judges, or the first."""
    judges: dict[str, list[str | None]] = {}
    for result in run.results:
        judges.setdefault(result.metric, []).append(result.by)
    return {metric: by if by in own else own[0] for metric, own in judges.items()}


def _drop_argument(name: str) -> str:
    return name.partition(":")[0]


def _make_key(name: str) -> str:
    """Return the key of a metric's options in a table of options."""
    return f"metric:{_drop_argument(name)}"


def _find_floors(run: Run, metric: str, by: str | None) -> dict[str, float]:
    """Return the confidence below which judges keep nothing, by need; the highest of several judges'."""
    results = (result for result in run.results if (result.metric, result.by) == (metric, by))
    asked = {(judge.need, judge.name) for result in results for judge in result.judges}
    floors: dict[str, float] = {}
    for judge in run.manifest.judges:
        if judge.metric == metric and (judge.need, judge.judge) in asked and judge.floor is not None:
            floors[judge.need] = max(judge.floor, floors.get(judge.need, 0.0))
    return floors
