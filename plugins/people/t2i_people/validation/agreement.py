"""Agreement of a metric, or of a single person, with people: on images, on prompts, and on models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from t2i_core.statistics import (
    Correlation,
    Estimate,
    Pairs,
    accuracy_with_ties,
    choose_epsilon,
    cluster_spearman,
    kendall,
    kendall_tau_b,
    make_pairs,
    pair_items,
    pairwise_accuracy,
    phi,
    spearman,
)

from .human_values import Form, HumanValues
from .metric_values import MetricValues

Level = Literal["image", "prompt"]

ACCURACY, WITH_TIES, TAU, RHO, PHI = "accuracy", "accuracy with ties", "tau-b", "rho", "phi"
SAME_PROMPT = " (same prompt)"
"""Ending of the name of a statistic over the pairs of images of one prompt."""


@dataclass(frozen=True)
class Statistic:
    """One statistic of agreement.

    Attributes:
        name: `accuracy` (on the pairs that people decided; chance is 0.5), `accuracy with ties` (tie-calibrated),
            `tau-b` (Kendall's), `rho` (Spearman's) or `phi`; with ` (same prompt)` if only images of one prompt
            are paired.
        value: Its value; None if it does not exist.
        lo: Lower end of its 95 % interval; None without one.
        hi: Upper end of the interval.
        p: Two-sided p-value, for rho and tau-b over prompts and models; None for the others.
        epsilon: Of `accuracy with ties`: the best epsilon on all pairs; None for the others.
        n: Number of pairs, or of images, prompts or models for rho and phi.
        n_prompts: Number of prompts that these come from.
        method: Method of the interval.
    """

    name: str
    value: float | None
    lo: float | None
    hi: float | None
    p: float | None
    epsilon: float | None
    n: int
    n_prompts: int
    method: str


@dataclass(frozen=True)
class Units:
    """Values of a predictor (a metric, or single people) and of people for the same images; all of shape (n,).

    Attributes:
        predictor: The predictor's values.
        people: People's values: of a preference in [-1, 1].
        models: The models of each unit.
        prompt: Its prompt.
        cluster: The cluster of its prompt.
        rater: The person who is the predictor; None for a metric.
    """

    predictor: np.ndarray[tuple[int], np.dtype[np.float64]]
    people: np.ndarray[tuple[int], np.dtype[np.float64]]
    models: Sequence[tuple[str, ...]]
    prompt: np.ndarray[tuple[int], np.dtype[np.object_]]
    cluster: np.ndarray[tuple[int], np.dtype[np.object_]]
    rater: np.ndarray[tuple[int], np.dtype[np.object_]] | None

    def __len__(self) -> int:
        return len(self.predictor)

    @property
    def n_prompts(self) -> int:
        """Number of prompts."""
        return len(set(self.prompt))

    def of_models(self, models: tuple[str, ...]) -> Units:
        """Return the units of these models."""
        kept = np.array([own == models for own in self.models], dtype=bool)
        rater = None if self.rater is None else self.rater[kept]
        return Units(
            self.predictor[kept],
            self.people[kept],
            [models] * int(kept.sum()),
            self.prompt[kept],
            self.cluster[kept],
            rater,
        )


def make_units(
    human: HumanValues, level: Level, values: MetricValues | None, clusters: Mapping[str, str]
) -> Units:
    """Return what a metric, or each single person, and people say.

    Of a person, the others' answers are people's value. On prompts, a preference is the mean of decided answers.

    Args:
        human: People's answers.
        level: On images as they were shown, or on prompts.
        values: The metric's values; None for single people.
        clusters: The cluster of each prompt.
    """
    keys = ["models", "prompt", *(["seeds"] if level == "image" else [])]
    table = human.table
    if level == "prompt" and human.form == "preference":
        two = np.array([len(set(models)) > 1 for models in table["models"]], dtype=bool)  # not two seeds of one
        table = table[(table["value"] != 0) & two]
    people = table.groupby(keys, sort=False)["value"].agg(total="sum", count="size").reset_index()
    if values is None:
        own = table.groupby([*keys, "rater"], sort=False)["value"].agg(own="sum", times="size").reset_index()
        units = own.merge(people, on=keys)
        units = units[units["count"] > units["times"]]
        units["predictor"] = units["own"] / units["times"]
        units["people"] = (units["total"] - units["own"]) / (units["count"] - units["times"])
    else:
        units = people
        units["people"] = units["total"] / units["count"]
        seeds = units["seeds"] if level == "image" else [None] * len(units)
        units["predictor"] = [
            values.find(*where) for where in zip(units["models"], units["prompt"], seeds, strict=True)
        ]
        units = units[units["predictor"].notna()]
    prompt = units["prompt"].to_numpy(object)
    return Units(
        units["predictor"].to_numpy(np.float64),
        units["people"].to_numpy(np.float64),
        list(units["models"]),
        prompt,
        np.array([clusters.get(each, each) for each in prompt], dtype=object),
        units["rater"].to_numpy(object) if values is None else None,
    )


def measure_agreement(units: Units, form: Form) -> Iterator[Statistic]:
    """Yield the statistics of all units together."""
    if form == "preference":
        yield from _describe_pairs(make_pairs(units.predictor, units.people, units.cluster), units.n_prompts, "")
        return
    yield _describe(RHO, _correlate(units), len(units), units.n_prompts)
    every = _pair(units, same_prompt=False)
    yield _describe(TAU, kendall_tau_b(every), len(every), units.n_prompts)
    if form == "yes-no" and set(units.predictor) <= {0.0, 1.0, -1.0} and len(set(units.predictor)) <= 2:
        decided = units.people != 0.5
        found = phi(
            units.predictor[decided] == max(units.predictor, default=0.0),
            units.people[decided] > 0.5,
            units.cluster[decided],
        )
        yield _describe(PHI, found, int(decided.sum()), len(set(units.prompt[decided])))
    yield from _describe_pairs(_pair(units, same_prompt=True), units.n_prompts, SAME_PROMPT)
    yield from _describe_pairs(every, units.n_prompts, "", tau=False)


def measure_prompt_agreement(units: Units) -> Iterator[Statistic]:
    """Yield the correlations over prompts, for preferences between two models."""
    n = units.n_prompts
    if units.rater is None:
        yield _describe(RHO, spearman(units.predictor, units.people), n, n)
        yield _describe(TAU, kendall(units.predictor, units.people), n, n)
    else:
        yield _describe(RHO, _correlate(units), len(units), n)
        pairs = _pair(units, same_prompt=False)
        yield _describe(TAU, kendall_tau_b(pairs), len(pairs), n)


def measure_model_agreement(
    metric: Sequence[float], people: Sequence[float], *, paired: bool
) -> Iterator[Statistic]:
    """Yield the correlations over models, or over pairs of models, which get no interval: they share models.

    Args:
        metric: Mean value of each model, or difference of each pair.
        people: Mean rating of each model, or preference of each pair, in [-1, 1].
        paired: Whether these are pairs.
    """
    x, y = np.array(metric, np.float64), np.array(people, np.float64)
    x, y = (side[np.isfinite(x) & np.isfinite(y)] for side in (x, y))
    n = len(x)
    for name, found in ((RHO, spearman(x, y)), (TAU, kendall(x, y))):
        if not math.isnan(found.value):
            yield _describe(name, found, n, 0) if not paired else _describe_alone(name, found.value, n)
    codes = np.arange(n)
    pairs = make_pairs(x, y, codes) if paired else pair_items(x, y, codes)
    share = pairwise_accuracy(pairs).value
    if not math.isnan(share):
        yield _describe_alone(ACCURACY, share, int((pairs.people != 0).sum()))


def _correlate(units: Units) -> Estimate:
    return cluster_spearman(units.predictor, units.people, units.cluster, units.rater)


def _pair(units: Units, *, same_prompt: bool) -> Pairs:
    """Return the pairs of units; of people, those of one person."""
    groups = [str(each) for each in units.prompt] if same_prompt else [""] * len(units)
    if units.rater is not None:
        groups = [f"{rater}\n{group}" for rater, group in zip(units.rater, groups, strict=True)]
    return pair_items(units.predictor, units.people, units.cluster, np.array(groups, dtype=object))


def _describe_pairs(pairs: Pairs, n_prompts: int, ending: str, tau: bool = True) -> Iterator[Statistic]:
    if not len(pairs):
        return
    yield _describe(ACCURACY + ending, pairwise_accuracy(pairs), int((pairs.people != 0).sum()), n_prompts)
    epsilon = choose_epsilon(pairs)
    yield _describe(WITH_TIES + ending, accuracy_with_ties(pairs), len(pairs), n_prompts, epsilon)
    if tau:
        yield _describe(TAU + ending, kendall_tau_b(pairs), len(pairs), n_prompts)


def _describe(
    name: str, found: Estimate | Correlation, n: int, n_prompts: int, epsilon: float | None = None
) -> Statistic:
    p = found.p if isinstance(found, Correlation) else math.nan
    value, lo, hi, known = (
        None if math.isnan(each) else float(each) for each in (found.value, found.lo, found.hi, p)
    )
    return Statistic(name, value, lo, hi, known, epsilon, n, n_prompts, found.method)


def _describe_alone(name: str, value: float, n: int) -> Statistic:
    return Statistic(name, value, None, None, None, None, n, 0, "none (pairs of models share models)")
