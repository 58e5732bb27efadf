"""Reasons why two models of stored runs were not measured in the same way."""

from __future__ import annotations

from typing import Any

from ..api.errors import BadFolder
from ..api.metric import Metric, PairMetric
from ..api.options import select_result_options
from ..api.plugin_info import MetricInfo
from ..api.resolver import ResolvedComponent
from .compared_model import ComparedModel, find_scored_result
from .manifest import PartRecord
from .result import Result


def explain_not_comparable(
    a: ComparedModel, b: ComparedModel, metric: ResolvedComponent[MetricInfo], instance: Metric
) -> str | None:
    """Return why two models were not measured in the same way; None if they were."""
    results = [find_scored_result(side, metric) for side in (a, b)]
    if isinstance(instance, PairMetric):
        return "the metric itself compares models within a run; see its scores"
    if None in results:
        return "one of the models has no score"
    for what in ("interval", "noise"):
        values = [getattr(side.run.manifest.request, what) for side in (a, b)]
        if values[0] != values[1]:
            return f"the runs' --{what} differ ({values[0]}, {values[1]})"
    versions = [_versions(side, metric.spec) for side in (a, b)]
    if len({*versions[0], *versions[1]}) > 1:
        return f"the metric's versions differ ({', '.join(' and '.join(map(str, sorted(v))) for v in versions)})"
    if len({len(_options(side, metric.spec)) for side in (a, b)} | {1}) > 1:
        return "a run has the metric with several sets of options"
    options = [_options(side, metric.spec)[0] for side in (a, b)]
    without_effect = type(metric.options).model_fields.keys() - select_result_options(metric.options).keys()
    if differing := [
        k for k in sorted({*options[0], *options[1]} - without_effect) if options[0].get(k) != options[1].get(k)
    ]:
        return f"the metric's options differ ({', '.join(differing)})"
    judges = [_judges(side, metric.spec, result) for side, result in zip((a, b), results, strict=True) if result]
    if judges[0] != judges[1]:
        needs = sorted({*judges[0], *judges[1]})
        differing = [need for need in needs if judges[0].get(need) != judges[1].get(need)]
        named = [judges[i].get(need, ("none",))[0] for need in differing for i in (0, 1)]
        same = "other options, weights or code" if len(set(named)) == 1 else ", ".join(dict.fromkeys(named))
        return f"their judges differ ({', '.join(differing)}: {same})"
    return _compare_prompts(a, b) if instance.rows_depend_on_prompts else None


def _compare_prompts(a: ComparedModel, b: ComparedModel) -> str | None:
    """Return why rows that depend on all prompts of a run do not compare; None if the prompts are the same."""
    if a.run.folder == b.run.folder:
        return None
    try:
        prompts = [{(p.id, p.text, p.references) for p in side.run.prompts()} for side in (a, b)]
    except BadFolder as error:
        return str(error)
    if different := len({id for id, *_ in prompts[0] ^ prompts[1]}):
        total = len({id for id, *_ in prompts[0] | prompts[1]})
        return (
            f"the runs' prompts differ ({different} of {total}), and the metric's values depend on all prompts of "
            "a run; measure both models with the same prompts"
        )
    return None


def _versions(side: ComparedModel, metric: str) -> set[int]:
    """Return the versions of the metric that measured; 1 for runs from before metrics had versions."""
    return {c.metric_version or 1 for c in _of_metric(side, metric)}


def _options(side: ComparedModel, metric: str) -> list[dict[str, Any]]:
    return [c.options for c in _of_metric(side, metric)]


def _of_metric(side: ComparedModel, metric: str) -> list[PartRecord]:
    """Return the manifest's records of a metric, one for each set of options."""
    return [c for c in side.run.manifest.components if c.kind == "metric" and c.name == metric]


def _judges(side: ComparedModel, metric: str, result: Result) -> dict[str, tuple[str, ...]]:
    """Return each need's judge: its name and the fingerprints of all judges with this name.

    Needs that the model itself answers are left out.
    """
    manifest = side.run.manifest
    itself = {j.need for j in manifest.judges if j.metric == metric and j.judge == "the model itself"}
    prints: dict[str, list[str]] = {}
    for c in manifest.components:
        if c.kind == "judge":
            prints.setdefault(c.name, []).append(c.fingerprint)
    others = [judge for judge in result.judges if judge.need not in itself]
    return {
        judge.need: (judge.name, judge.capability or "", *sorted(prints.get(judge.name, []))) for judge in others
    }
