"""Scores of runs that are stored: two models of one or two runs compared on what they share."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import Any

import pandas as pd
from t2i_core.api.metric import Metric, PairMetric
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.options import select_result_options
from t2i_core.api.plugin_guard import guard_plugin
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent
from t2i_core.results.manifest import PartRecord
from t2i_core.results.result import Result
from t2i_core.results.run import Run
from t2i_core.results.score_difference import compare_headlines, compute_headline, select_shared
from t2i_core.statistics import PairedDifference


@dataclass(frozen=True)
class ComparedModel:
    """A model of a stored run. label: as the run calls it; name: as the comparison calls it."""

    run: Run
    label: str
    name: str


@dataclass(frozen=True)
class Paired:
    """Two models under one metric.

    found: the difference of the headline, a - b; None where there is none
    why:   why there is none
    rows:  the headline's rows of what both share, one per cell and model: prompt, seed (where images are measured
           one by one), model (the sides' names), value
    """

    metric: str
    measure: SettledMeasure
    found: PairedDifference | None
    why: str
    rows: pd.DataFrame


@dataclass(frozen=True)
class _StoredScoring:
    """How the rows of a stored run become scores."""

    metric: ResolvedComponent[MetricInfo]
    instance: Metric
    measures: tuple[SettledMeasure, ...]
    noise: str


def paired(a: ComparedModel, b: ComparedModel, metric: ResolvedComponent[MetricInfo]) -> Paired:
    """Compare two models under a metric that both runs have, by the rules of an evaluation.

    A prompt is shared where its id and its text are the same: runs do not hold scenes.
    """
    with guard_plugin(metric, "to be made"):
        instance = metric.info.create(metric.setup())
    with guard_plugin(metric, "to say the bounds of its measures"):
        measures = tuple(m.settled(metric.options) for m in metric.info.measures)
    nothing = pd.DataFrame(columns=["prompt", "model", "value"])
    why = _incomparable(a, b, metric, instance)
    if why is not None:
        return Paired(metric.spec, measures[0], None, why, nothing)
    request = a.run.manifest.request
    scoring = _StoredScoring(metric, instance, measures, request.noise)
    table = _categorical(pd.concat([_rows(side, metric.spec) for side in (a, b)], ignore_index=True))
    for side, result in ((each, _measured(each, metric)) for each in (a, b)):
        own = table[table["model"] == side.name]
        if (
            result is not None
            and result.score is not None
            and not isclose(again := compute_headline(scoring, own), result.score, rel_tol=1e-6, abs_tol=1e-9)
        ):
            why = f"the rows of {side.name} give {again:.6g} now, where its run says {result.score:.6g}"
            return Paired(metric.spec, measures[0], None, f"{why}: was the metric altered?", nothing)
    same = _same_prompts(a, b, table)
    found = compare_headlines(scoring, a.name, b.name, table, same, request.interval)
    if found is None:
        return Paired(metric.spec, measures[0], None, "they share no prompts under the same seeds", nothing)
    return Paired(metric.spec, measures[0], found, "", _cells(table, same, measures[0].name, a, b))


def _incomparable(
    a: ComparedModel, b: ComparedModel, metric: ResolvedComponent[MetricInfo], instance: Metric
) -> str | None:
    """Say why two models' values cannot be compared, if so: they were not measured in the same way."""
    said = [_measured(side, metric) for side in (a, b)]
    if isinstance(instance, PairMetric):
        return "it compares models within a run: its scores say how they compare"
    if None in said:
        return "one has no score"
    for what in ("interval", "noise"):
        asked = [getattr(side.run.manifest.request, what) for side in (a, b)]
        if asked[0] != asked[1]:
            return f"the runs' --{what} differ ({asked[0]}, {asked[1]})"
    versions = [_versions(side, metric.spec) for side in (a, b)]
    if len({*versions[0], *versions[1]}) > 1:
        return f"the metric's versions differ ({', '.join(' and '.join(map(str, sorted(v))) for v in versions)})"
    if len({len(_options(side, metric.spec)) for side in (a, b)} | {1}) > 1:
        return "a run has the metric under several options"
    options = [_options(side, metric.spec)[0] for side in (a, b)]
    silent = type(metric.options).model_fields.keys() - select_result_options(metric.options).keys()
    if differing := [
        k for k in sorted({*options[0], *options[1]} - silent) if options[0].get(k) != options[1].get(k)
    ]:
        return f"the metric's options differ ({', '.join(differing)})"
    judges = [_judges(side, metric.spec, result) for side, result in zip((a, b), said, strict=True) if result]
    if judges[0] != judges[1]:
        differing = sorted(need for need in judges[0] if judges[0][need] != judges[1].get(need))
        named = [judges[i].get(need, ("none",))[0] for need in differing for i in (0, 1)]
        same = "other options, weights or code" if len(set(named)) == 1 else ", ".join(dict.fromkeys(named))
        return f"their judges differ ({', '.join(differing)}: {same})"
    return None


def _measured(side: ComparedModel, metric: ResolvedComponent[MetricInfo]) -> Result | None:
    """Return the model's result under the metric, if it has a score."""
    theirs = (r for r in side.run.results if r.metric == metric.spec and r.label == side.label)
    return next((result for result in theirs if result.score is not None), None)


def _versions(side: ComparedModel, metric: str) -> set[int]:
    """The versions of the metric that measured; 1 in a run from before metrics had versions."""
    return {c.metric_version or 1 for c in _of_metric(side, metric)}


def _options(side: ComparedModel, metric: str) -> list[dict[str, Any]]:
    return [c.options for c in _of_metric(side, metric)]


def _of_metric(side: ComparedModel, metric: str) -> list[PartRecord]:
    """Return the manifest's entries of a metric: one for each set of options."""
    return [c for c in side.run.manifest.components if c.kind == "metric" and c.name == metric]


def _judges(side: ComparedModel, metric: str, result: Result) -> dict[str, tuple[str, ...]]:
    """By need who answered it, with the fingerprints of all judges of this name; the model itself is left out."""
    manifest = side.run.manifest
    itself = {j.need for j in manifest.judges if j.metric == metric and j.judge == "the model itself"}
    prints: dict[str, list[str]] = {}
    for c in manifest.components:
        if c.kind == "judge":
            prints.setdefault(c.name, []).append(c.fingerprint)
    asked = [judge for judge in result.judges if judge.need not in itself]
    return {judge.need: (judge.name, *sorted(prints.get(judge.name, []))) for judge in asked}


def _rows(side: ComparedModel, metric: str) -> pd.DataFrame:
    table = side.run.measurements()
    if "model" not in table:
        return table.iloc[:0]
    own = table[(table["metric"] == metric) & (table["model"] == side.label)]
    return own.assign(model=side.name).drop(columns="metric").dropna(axis="columns", how="all")


def _categorical(table: pd.DataFrame) -> pd.DataFrame:
    """As an evaluation has its table: each column but the values categorical."""
    return table.astype({name: "category" for name in table.columns if name != "value"})


def _same_prompts(a: ComparedModel, b: ComparedModel, table: pd.DataFrame) -> set[str]:
    """The prompts whose texts are the same; of metrics without images texts are not known."""
    if "prompt" not in table:
        return set()
    if a.run.folder == b.run.folder:
        return set(table["prompt"].unique())
    texts = [_texts(side) for side in (a, b)]
    return {id for id in table["prompt"].unique() if texts[0].get(id) == texts[1].get(id)}


def _texts(side: ComparedModel) -> dict[str, str]:
    samples = side.run.samples()
    own = samples[samples["model"] == side.label].drop_duplicates("prompt")
    return dict(zip(own["prompt"], own["text"].fillna(""), strict=True))


def _cells(table: pd.DataFrame, same: set[str], measure: str, a: ComparedModel, b: ComparedModel) -> pd.DataFrame:
    """The mean of the headline in each cell that both have."""
    if "prompt" not in table:
        return pd.DataFrame(columns=["prompt", "model", "value"])
    rows = select_shared(table[table["prompt"].isin(same)], a.name, b.name)
    rows = rows[rows["measure"] == measure]
    cell = [c for c in ("prompt", "seed") if c in rows and not rows[c].isna().all()]
    return rows.groupby([*cell, "model"], observed=True)["value"].mean().reset_index()
