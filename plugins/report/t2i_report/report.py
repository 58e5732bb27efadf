"""A report of runs: what was run, what came out, and the images, in one HTML file."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from t2i_core.api.digest import digest_data
from t2i_core.api.errors import T2IError
from t2i_core.api.metric_output import Measure
from t2i_core.api.resolver import Resolver
from t2i_core.api.study import Analysis
from t2i_core.results.analysis import StoredMetrics, analyze_run, list_metrics
from t2i_core.results.result import Result, Score
from t2i_core.results.run import Run

from .gallery import gallery
from .names import run_names
from .page import write_page
from .thumbnails import Thumbnails

MOST_ROWS = 200
"""Rows of an analysis, and of the list of failures, that a page shows; all are in the run's folder."""


@dataclass(frozen=True)
class ShownAnalysis:
    """One analysis. figure: a PNG in base64, or None."""

    metric: str
    name: str
    summary: str
    table: pd.DataFrame
    figure: str | None

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows that are shown."""
        return list(self.table.head(MOST_ROWS).itertuples(index=False, name=None))


@dataclass
class Told:
    """A run as the page tells it.

    failures: by metric, kind and reason, how many; most frequent first
    lost:     the first samples without a value, row by row
    """

    name: str
    run: Run
    measures: Mapping[str, Sequence[Measure]]
    analyses: list[ShownAnalysis] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    failures: list[tuple[tuple[str, str, str], int]] = field(default_factory=list)
    lost: list[tuple[Any, ...]] = field(default_factory=list)
    n_lost: int = 0

    @property
    def manifest(self) -> str:
        """All that run.json says beside its results."""
        recorded = self.run.manifest.model_dump(by_alias=True, exclude={"results", "comparisons"})
        return json.dumps(recorded, indent=1, ensure_ascii=False)

    def better(self, metric: str) -> str:
        """Whether higher is better, in words."""
        own = self.measures.get(metric)
        if not own or own[0].higher_is_better is None:
            return ""
        return "higher is better" if own[0].higher_is_better else "lower is better"

    def by_metric(self) -> dict[str, list[Result]]:
        """The results of each metric."""
        found: dict[str, list[Result]] = {}
        for result in self.run.results:
            found.setdefault(result.metric, []).append(result)
        return found

    def drawn_in(self, metric: str, name: str, scores: Iterable[Score]) -> tuple[float, float]:
        """The range in which scores are drawn: the measure's bounds, or where it has none what holds them all."""
        bounds = next(((m.low, m.high) for m in self.measures.get(metric, ()) if m.name == name), (None, None))
        there = [v for score in scores for v in (score.value, *score.ci) if v is not None]
        low = float(bounds[0]) if isinstance(bounds[0], int | float) else min(there, default=0.0)
        high = float(bounds[1]) if isinstance(bounds[1], int | float) else max(there, default=1.0)
        return (low, high) if low < high else (low - 0.5, low + 0.5)

    @staticmethod
    def scores_named(results: Sequence[Result], name: str) -> list[Score]:
        """Return the scores of one name, of the results that have it."""
        return [result.scores[name] for result in results if name in result.scores]

    def facets(self) -> list[tuple[str, str, str, list[tuple[str, str, Score]]]]:
        """By metric, measure and facet: model, level and its score, for all models together."""
        found: dict[tuple[str, str, str], list[tuple[str, str, Score]]] = {}
        for result in self.run.results:
            for measure, by_facet in result.facets.items():
                for facet, levels in by_facet.items():
                    rows = found.setdefault((result.metric, measure, facet), [])
                    rows += [(result.label, level, score) for level, score in levels.items()]
        return [(*key, rows) for key, rows in found.items()]

    def notes(self) -> list[str]:
        """What a reader of the scores must know."""
        return list(dict.fromkeys(n for result in self.run.results for n in result.notes))

    def methods(self) -> dict[str, list[str]]:
        """How intervals were made: the metrics of each method."""
        found: dict[str, dict[str, None]] = {}
        for result in self.run.results:
            if result.interval:
                found.setdefault(result.interval, {})[result.metric] = None
        return {method: list(metrics) for method, metrics in found.items()}


def write_report(
    runs: Sequence[Run], target: Path, resolver: Resolver, side: int, warn: Callable[[str], None]
) -> None:
    """Write a report of finished runs. Nothing is generated or judged.

    side: of the longer side of pictures, in pixels
    warn: told what is left out, and why
    """
    told, measures = [], {}
    for name, run in zip(run_names(runs), runs, strict=True):
        metrics = list_metrics(run, resolver)
        own = {spec: made.info.measures for spec, made in metrics.made.items()}
        measures |= own
        told.append(_told(name, run, own, metrics, resolver))
        for fault in told[-1].faults:
            warn(f"{run.path}: {fault}")
    shown = gallery(runs, measures)
    pictures = Thumbnails(shown.pictures, side)
    write_page(
        target,
        "report.html",
        told=told,
        pictures=pictures,
        n_images=len(shown.images),
        gallery=lambda: {
            "id": digest_data([run.manifest.plan for run in runs]),
            "side": side,
            **shown.plain(pictures.damaged),
        },
        most_rows=MOST_ROWS,
    )
    pictures.tell(warn)


def _told(
    name: str, run: Run, measures: Mapping[str, Sequence[Measure]], metrics: StoredMetrics, resolver: Resolver
) -> Told:
    told = Told(name, run, measures)
    told.faults += [f"{spec} cannot be asked for its analyses: {why}" for spec, why in metrics.absent.items()]

    def failing(spec: str, error: T2IError) -> None:
        told.faults.append(f"the analyses of {spec} are left out: {error}")

    for metric, analysis in analyze_run(run, metrics, resolver, failing=failing):
        told.analyses.append(
            ShownAnalysis(metric, analysis.name, analysis.summary, analysis.table, _drawn(analysis, told))
        )
    if "failures.csv" in run.manifest.files:
        lost = run.failures()
        lost["reason"] = lost["reason"].fillna("")
        told.n_lost = len(lost)
        counted = Counter(lost[["metric", "kind", "reason"]].itertuples(index=False, name=None))
        told.failures = counted.most_common(MOST_ROWS)
        columns = ["metric", "model", "prompt", "seed", "kind", "reason"]
        told.lost = list(lost[columns].head(MOST_ROWS).itertuples(index=False, name=None))
    return told


def _drawn(analysis: Analysis, told: Told) -> str | None:
    """The figure of an analysis as PNG in base64; what goes wrong with it harms nothing else."""
    if analysis.figure is None:
        return None
    if importlib.util.find_spec("matplotlib") is None:
        fault = "figures are left out: they are drawn by matplotlib, pip install matplotlib"
        if fault not in told.faults:
            told.faults.append(fault)
        return None
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    buffer = io.BytesIO()
    try:
        analysis.figure(figure.add_subplot())
        figure.savefig(buffer, dpi=100, format="png")
    except Exception as error:
        told.faults.append(f"the figure {analysis.name!r} is left out: {type(error).__name__}: {error}")
        return None
    return base64.b64encode(buffer.getvalue()).decode()
