"""Report of runs in one HTML file: what the results say, the models, images and method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import T2IError
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.resolver import Resolver
from t2i_core.results.analysis import StoredMetrics, analyze_run, list_metrics
from t2i_core.results.run import Run
from t2i_core.results.table_format import format_table
from t2i_core.results.thumbnails import Thumbnails

from .method import MOST_ROWS
from .names import model_names, run_names, shorten_reason
from .page import write_page
from .pictures.evidence import find_overlays, list_templates, list_titles
from .pictures.example import choose_example
from .pictures.explained_values import read_values
from .pictures.gallery import gallery
from .pictures.image_reasons import list_reasons
from .pictures.mistakes import find_mistakes, group_mistakes
from .pictures.pairs import find_pair_mistakes
from .plots.drawing import DrawnFigure, draw_figure
from .plots.looks import analyze_looks
from .reported_run import ReportedRun, group_run, record_run, settle_measures
from .summary import ResultSummary, summarize


@dataclass(frozen=True)
class ShownAnalysis:
    """An analysis on the page.

    Attributes:
        metric: Name of the metric.
        name: Name of the analysis.
        summary: What the table shows.
        table: The table.
        figure: The figure; None if it has none, or it cannot be drawn.
    """

    metric: str
    name: str
    summary: str
    table: pd.DataFrame
    figure: DrawnFigure | None

    @property
    def shown_table(self) -> Markup:
        """The first rows of the table as HTML."""
        return Markup(format_table(self.table, "html", MOST_ROWS))


@dataclass(frozen=True)
class RunReport:
    """A run as the page shows it.

    Attributes:
        name: Name of the run.
        summary: The sections about its results.
        record: The run itself.
        analyses: The analyses.
        faults: Why analyses or figures are left out.
    """

    name: str
    summary: ResultSummary
    record: ReportedRun
    analyses: Sequence[ShownAnalysis]
    faults: Sequence[str]

    @property
    def analyses_by_metric(self) -> dict[str, list[ShownAnalysis]]:
        """The analyses of each metric."""
        found: dict[str, list[ShownAnalysis]] = {}
        for analysis in self.analyses:
            found.setdefault(analysis.metric, []).append(analysis)
        return found


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
    measures: dict[str, Sequence[SettledMeasure]] = {}
    for name, run in zip(run_names(runs), runs, strict=True):
        metrics = list_metrics(run, resolver)
        measures |= settle_measures(metrics)
        reports.append(_report_run(name, run, metrics, resolver))
        for fault in reports[-1].faults:
            warn(f"{run.path}: {fault}")
    shown = gallery(runs, measures)
    pictures = Thumbnails(shown.pictures, side)
    overlays = find_overlays(runs, shown, side)
    values = read_values(runs, shown, measures)
    found = [*find_mistakes(values, shown, overlays), *find_pair_mistakes(runs, shown)]
    mistakes = group_mistakes(found)
    spots = [
        replace(spot, metric=titles[spot.metric], model=names.get(spot.model, spot.model))
        for report, titles, names in zip(reports, shown.titles, model_names(runs), strict=True)
        for spot in report.summary.answers.spots
    ]
    write_page(
        target,
        "report.html",
        reports=reports,
        summaries=[report.summary for report in reports],
        records=[report.record for report in reports],
        title=_make_title(reports),
        pictures=pictures,
        n_images=len(shown.images),
        gallery=lambda: {
            "id": digest_data([run.manifest.plan for run in runs]),
            "side": side,
            **shown.plain({n: shorten_reason(why, runs) for n, why in pictures.damaged.items()}),
            "evidence": list_titles(overlays),
            "because": list(list_reasons(values, shown)),
        },
        mistakes=mistakes,
        example=choose_example(mistakes, spots, shown.tables, pictures.encode),
        overlays=overlays,
        templates=lambda: list_templates(overlays),
        most_rows=MOST_ROWS,
    )
    pictures.report_missing(warn)


def _make_title(reports: Sequence[RunReport]) -> str:
    """Return the title of a page: what the results of its run say; of several runs, their names."""
    if len(reports) == 1:
        return reports[0].summary.headline.title
    return f"{len(reports)} runs: {', '.join(report.name for report in reports)}"


def _report_run(name: str, run: Run, metrics: StoredMetrics, resolver: Resolver[Any]) -> RunReport:
    """Return a run as the page shows it.

    Args:
        name: Name of the run.
        run: The run.
        metrics: Its metrics.
        resolver: Finds metrics and judges.
    """
    faults = [f"no analyses of {spec}: {why}" for spec, why in metrics.absent.items()]
    groups = group_run(run, metrics)
    record = record_run(name, run, groups, resolver)
    stopping = run.manifest.stopping
    summary = summarize(
        name,
        groups,
        record.judges,
        record.citation,
        faults,
        failed=run.failed,
        stopped=stopping.verdict if stopping is not None else None,
    )
    return RunReport(name, summary, record, _show_analyses(run, metrics, resolver, faults), faults)


def _show_analyses(
    run: Run, metrics: StoredMetrics, resolver: Resolver[Any], faults: list[str]
) -> list[ShownAnalysis]:
    """Return the analyses of a run, those of its looks first; add to `faults` why others are left out."""

    def failing(spec: str, error: T2IError) -> None:
        faults.append(f"no analyses of {spec}: {error}")

    found = [("run", analysis) for analysis in analyze_looks(run.manifest.stopping)]
    shown = []
    for metric, each in [*found, *analyze_run(run, metrics, resolver, failing=failing)]:
        figure = None if each.figure is None else draw_figure(each.figure, each.table, each.name, faults)
        shown.append(ShownAnalysis(metric, each.name, each.summary, each.table, figure))
    return shown
