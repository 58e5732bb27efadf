"""Pairs of models: people's share for one over the other, their agreement, and the metric's difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from t2i_core.statistics import Estimate, krippendorff_alpha, mean_interval

from .human_values import HumanValues
from .metric_values import MetricValues

Range = tuple[float, float] | None


@dataclass(frozen=True)
class HumanPreference:
    """People's preferences between two models.

    Attributes:
        question: The question.
        a: The first model.
        b: The second model.
        share: Share of the decided answers for a; None if none is decided.
        ci: Its 95 % interval over prompts, for these people.
        decided: Number of answers other than ties.
        ties: Number of ties, both bad among them.
        alpha: Krippendorff's nominal alpha of the answers without ties; None if it does not exist.
        alpha_ci: Its 95 % interval.
        alpha_with_ties: The same with a tie as a third answer.
        alpha_with_ties_ci: Its 95 % interval.
        n_prompts: Number of prompts.
        n_people: Number of people.
        absent: Why the share or an alpha does not exist, by field.
    """

    question: str
    a: str
    b: str
    share: float | None
    ci: Range
    decided: int
    ties: int
    alpha: float | None
    alpha_ci: Range
    alpha_with_ties: float | None
    alpha_with_ties_ci: Range
    n_prompts: int
    n_people: int
    absent: Mapping[str, str]


@dataclass(frozen=True)
class MetricDifference:
    """A metric's difference of two models, over all prompts of the runs that both have.

    Attributes:
        value: The mean difference a - b, sign flipped if lower values are better; None without such prompts.
        ci: Its 95 % interval over prompts; None for a value of a model's whole set.
        n_prompts: Number of prompts.
    """

    value: float | None
    ci: Range
    n_prompts: int


def list_pairs(human: HumanValues) -> list[tuple[str, str]]:
    """Return the pairs of different models that people compared, by name."""
    return sorted({models for models in human.table["models"] if len(models) == 2 and models[0] != models[1]})


def summarize_preference(human: HumanValues, a: str, b: str, clusters: Mapping[str, str]) -> HumanPreference:
    """Return what people prefer between two models, in either order."""
    rows = human.table[[models in ((a, b), (b, a)) for models in human.table["models"]]]
    cluster = np.array([clusters.get(prompt, prompt) for prompt in rows["prompt"]], dtype=object)
    value = rows["value"].to_numpy(np.float64) * (1 if a <= b else -1)
    decided = value != 0
    share = None
    if decided.any():
        share = mean_interval((value[decided] + 1) / 2, cluster[decided], None, low=0, high=1)
    items = list(zip(rows["prompt"], rows["seeds"], strict=True))
    alphas = [
        krippendorff_alpha(items, rows["rater"], value, cluster, excluded=excluded) for excluded in ((0.0,), ())
    ]
    return HumanPreference(
        human.question,
        a,
        b,
        share.value if share else None,
        get_interval(share) if share else None,
        int(decided.sum()),
        int((~decided).sum()),
        _get_number(alphas[0].value),
        get_interval(alphas[0]),
        _get_number(alphas[1].value),
        get_interval(alphas[1]),
        int(rows["prompt"].nunique()),
        int(rows["rater"].nunique()),
        dict(_list_absent(share, *alphas)),
    )


def _list_absent(share: Estimate | None, alpha: Estimate, alpha_with_ties: Estimate) -> Iterator[tuple[str, str]]:
    """Yield why a statistic of a preference does not exist, with its field."""
    if share is None:
        yield "share", "all answers are ties"
    for name, found in (("alpha", alpha), ("alpha_with_ties", alpha_with_ties)):
        if math.isnan(found.value):
            yield name, ", ".join(found.notes) or "no images were judged by two people"


def measure_difference(values: MetricValues, a: str, b: str) -> MetricDifference:
    """Return a metric's difference of two models."""
    if values.scope == "model":
        return MetricDifference(_get_number(values.find((a, b), "", None)), None, 0)
    prompts = list(dict.fromkeys(prompt for _, prompt in values.of_prompts))
    found = {prompt: values.find((a, b), prompt, None) for prompt in prompts}
    found = {prompt: gap for prompt, gap in found.items() if math.isfinite(gap)}
    if not found:
        return MetricDifference(None, None, 0)
    cluster = np.array([values.clusters.get(prompt, prompt) for prompt in found], dtype=object)
    width = None if values.low is None or values.high is None else values.high - values.low
    low = -math.inf if width is None else -width  # without a bound, 0 and 1 would be read as a proportion
    mean = mean_interval(np.array(list(found.values())), cluster, None, low=low, high=width)
    return MetricDifference(mean.value, get_interval(mean), len(found))


def _get_number(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 12)


def get_interval(found: Estimate) -> Range:
    """Return an interval; None if an end is NaN, or if it has no width because nothing varies."""
    exists = found.lo < found.hi  # false for NaN
    return (float(found.lo), float(found.hi)) if exists else None
