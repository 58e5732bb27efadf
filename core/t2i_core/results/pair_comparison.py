"""Comparison of two models of any runs, and the adjustment of several such comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from ..api.metric import PairMetric
from ..api.plugin_info import MetricInfo
from ..api.resolver import ResolvedComponent
from ..statistics import holm
from .compared_model import ComparedModel
from .metric_comparison import compare_metric
from .numbers import make_number
from .result import Comparison
from .run_comparisons import DRAWN_BY_DIFFERENCE, draws_by_difference, find_run_comparison
from .score_difference import make_stored_scoring


def compare_pair(
    metric: ResolvedComponent[MetricInfo], a: ComparedModel, b: ComparedModel, trust: bool = True
) -> tuple[Comparison | None, str]:
    """Return the difference of two models under a metric, a - b, or None and why they are not compared.

    Args:
        metric: The metric.
        a: The first model.
        b: The second model.
        trust: True if two models of one run have the comparison that the run records. False if it is computed
            again from the measured values, where that is possible, because the run may come from somebody else.
    """
    if draws_by_difference(a.run) or draws_by_difference(b.run):
        # how many samples such a run has depends on its differences, and a test across runs would not know that
        return None, DRAWN_BY_DIFFERENCE
    if a.run.folder == b.run.folder and (trust or isinstance(make_stored_scoring(metric).instance, PairMetric)):
        own = find_run_comparison(a.run, (a.label, b.label), metric.spec, a.by)
        if own is None:
            return None, "their run does not compare them"
        return own.model_copy(update={"a": a.name, "b": b.name}), ""
    pair = compare_metric(a, b, metric, (a.by, b.by))
    return pair.to_comparison(a.name, b.name), pair.why


def adjust_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with p-values that are adjusted for all of them (Holm)."""
    adjusted = holm([nan if each.p_unadjusted is None else each.p_unadjusted for each in comparisons])
    return [
        each.model_copy(update={"p_adjusted": make_number(p)})
        for each, p in zip(comparisons, adjusted, strict=True)
    ]
