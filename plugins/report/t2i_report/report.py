"""Report of runs in one HTML file: scores, analyses, images, failures and manifests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import MissingDependency, T2IError
from t2i_core.api.metric_output import Measure
from t2i_core.api.resolver import Resolver
from t2i_core.api.study import Analysis
from t2i_core.results.analysis import StoredMetrics, analyze_run, list_metrics
from t2i_core.results.figures import draw_svg
from t2i_core.results.figures.look import follow_theme
from t2i_core.results.result import Result, Score
from t2i_core.results.run import Run
from t2i_core.results.table_format import format_table
from t2i_core.results.thumbnails import Thumbnails
from t2i_core.results.verdict import describe_need

from .gallery import gallery
from .looks import analyze_looks
from .names import run_names
from .page import write_page

MOST_ROWS = 200
"""Maximum number of rows of an analysis, and of failures, on a page."""


@dataclass(frozen=True)
class ShownAnalysis:
    """An analysis on the page.

    Attributes:
        metric: Name of the metric.
        name: Name of the analysis.
        summary: What the table shows.
        table: The table.
        figure: SVG that follows the theme of the page, or None.
    """

    metric: str
    name: str
    summary: str
    table: pd.DataFrame
    figure: Markup | None

    @property
    def shown_table(self) -> Markup:
        """The first rows of the table as HTML."""
        return Markup(format_table(self.table, "html", MOST_ROWS))


@dataclass
class RunReport:
    """A run as the page shows it.

    Attributes:
        name: Name of the run.
        run: The run.
        measures: Measures of each installed metric.
        analyses: Analyses on the page.
        faults: Why analyses or figures are left out.
        failures: Number of failures by metric, kind and reason, the most frequent first.
        lost: The first samples without a value, row by row.
        n_lost: Number of samples without a value.
    """

    name: str
    run: Run
    measures: Mapping[str, Sequence[Measure]]
    analyses: list[ShownAnalysis] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    failures: list[tuple[tuple[str, str, str], int]] = field(default_factory=list)
    lost: list[tuple[Any, ...]] = field(default_factory=list)
    n_lost: int = 0

    def _list_measures(self, title: str) -> Sequence[Measure]:
        metric = next((result.metric for result in self.run.results if result.title == title), title)
        return self.measures.get(metric, ())

    @property
    def manifest(self) -> str:
        """The content of run.json without the results, as JSON."""
        recorded = self.run.manifest.model_dump(by_alias=True, exclude={"results", "comparisons", "agreements"})
        return json.dumps(recorded, indent=1, ensure_ascii=False)

    def better(self, metric: str) -> str:
        """Return whether higher or lower is better for a metric, in words; empty if unknown."""
        own = self._list_measures(metric)
        if not own or own[0].higher_is_better is None:
            return ""
        return "higher is better" if own[0].higher_is_better else "lower is better"

    def by_metric(self) -> dict[str, list[Result]]:
        """Return the results of each metric, and of each judge if several judge it, by their title."""
        found: dict[str, list[Result]] = {}
        for result in self.run.results:
            found.setdefault(result.title, []).append(result)
        return found

    def axis_range(self, metric: str, name: str, scores: Iterable[Score]) -> tuple[float, float]:
        """Return the range of the axis for scores: the measure's bounds, or the extremes of the intervals."""
        bounds = next(((m.low, m.high) for m in self._list_measures(metric) if m.name == name), (None, None))
        values = [v for score in scores for v in (score.value, *score.ci) if v is not None]
        low = float(bounds[0]) if isinstance(bounds[0], int | float) else min(values, default=0.0)
        high = float(bounds[1]) if isinstance(bounds[1], int | float) else max(values, default=1.0)
        return (low, high) if low < high else (low - 0.5, low + 0.5)

    @staticmethod
    def scores_named(results: Sequence[Result], name: str) -> list[Score]:
        """Return the scores with this name, of the results that have one."""
        return [result.scores[name] for result in results if name in result.scores]

    def facets(self) -> list[tuple[str, str, str, list[tuple[str, str, Score]]]]:
        """Return metric, measure, facet and its rows of model, level and score, for all models together."""
        found: dict[tuple[str, str, str], list[tuple[str, str, Score]]] = {}
        for result in self.run.results:
            for measure, by_facet in result.facets.items():
                for facet, levels in by_facet.items():
                    rows = found.setdefault((result.title, measure, facet), [])
                    rows += [(result.label, level, score) for level, score in levels.items()]
        return [(*key, rows) for key, rows in found.items()]

    def notes(self) -> list[str]:
        """Return the notes of all results, without repetitions."""
        return list(dict.fromkeys(n for result in self.run.results for n in result.notes))

    def needs(self) -> list[str]:
        """Return for each metric with comparisons without a verdict how many prompts would show a difference."""
        titles = dict.fromkeys(each.title for each in self.run.comparisons)
        lines = {
            title: describe_need([each for each in self.run.comparisons if each.title == title])
            for title in titles
        }
        return [f"{title}: {line}" for title, line in lines.items() if line is not None]

    def methods(self) -> dict[str, list[str]]:
        """Return the metrics of each method of intervals."""
        found: dict[str, dict[str, None]] = {}
        for result in self.run.results:
            if result.interval:
                found.setdefault(result.interval, {})[result.title] = None
        return {method: list(metrics) for method, metrics in found.items()}


def write_report(
    runs: Sequence[Run], target: Path, resolver: Resolver[Any], side: int, warn: Callable[[str], None]
) -> None:
    """Write a report of finished runs. Nothing is generated or judged.

    Args:
        runs: The runs.
        target: The file.
        resolver: Finds the metrics, for their analyses.
        side: Maximum length of the longer side of pictures in pixels.
        warn: Shows a warning about anything that is left out.
    """
    reports: list[RunReport] = []
    measures: dict[str, Sequence[Measure]] = {}
    for name, run in zip(run_names(runs), runs, strict=True):
        metrics = list_metrics(run, resolver)
        own = {spec: made.info.measures for spec, made in metrics.made.items()}
        measures |= own
        reports.append(_report_run(name, run, own, metrics, resolver))
        for fault in reports[-1].faults:
            warn(f"{run.path}: {fault}")
    shown = gallery(runs, measures)
    pictures = Thumbnails(shown.pictures, side)
    write_page(
        target,
        "report.html",
        reports=reports,
        pictures=pictures,
        n_images=len(shown.images),
        gallery=lambda: {
            "id": digest_data([run.manifest.plan for run in runs]),
            "side": side,
            **shown.plain(pictures.damaged),
        },
        most_rows=MOST_ROWS,
    )
    pictures.report_missing(warn)


def _report_run(
    name: str, run: Run, measures: Mapping[str, Sequence[Measure]], metrics: StoredMetrics, resolver: Resolver[Any]
) -> RunReport:
    report = RunReport(name, run, measures)
    report.faults += [f"no analyses of {spec}: {why}" for spec, why in metrics.absent.items()]

    def failing(spec: str, error: T2IError) -> None:
        report.faults.append(f"no analyses of {spec}: {error}")

    for analysis in analyze_looks(run.manifest.stopping):
        report.analyses.append(
            ShownAnalysis("run", analysis.name, analysis.summary, analysis.table, _draw(analysis, report))
        )
    for metric, analysis in analyze_run(run, metrics, resolver, failing=failing):
        report.analyses.append(
            ShownAnalysis(metric, analysis.name, analysis.summary, analysis.table, _draw(analysis, report))
        )
    if "failures.csv" in run.manifest.files:
        lost = run.failures()
        lost["reason"] = lost["reason"].fillna("")
        report.n_lost = len(lost)
        counted = Counter(lost[["metric", "kind", "reason"]].itertuples(index=False, name=None))
        report.failures = counted.most_common(MOST_ROWS)
        columns = ["metric", "model", "prompt", "seed", "kind", "reason"]
        report.lost = list(lost[columns].head(MOST_ROWS).itertuples(index=False, name=None))
    return report


def _draw(analysis: Analysis, report: RunReport) -> Markup | None:
    """Return the figure of an analysis as SVG for the page. If it cannot be drawn, add a fault and return None."""
    if analysis.figure is None:
        return None
    try:
        return Markup(follow_theme(draw_svg(analysis.figure, analysis.table)))
    except MissingDependency:
        fault = "figures are left out; to draw them: pip install 't2i-report[figures]'"
    except Exception as error:
        fault = f"the figure {analysis.name!r} is left out: {type(error).__name__}: {error}"
    if fault not in report.faults:
        report.faults.append(fault)
    return None
