"""Mean ratings of models, or shares of yes, beside the metric's means on the same images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from t2i_core.statistics import mean_interval

from .agreement import make_units
from .human_values import HumanValues
from .metric_values import MetricValues
from .model_pairs import Range, get_interval


@dataclass(frozen=True)
class ModelMean:
    """One model's means, on the images that people saw and that have a value.

    Attributes:
        model: The model.
        people: Mean rating, or share of yes.
        people_ci: Its 95 % interval over prompts, for these people.
        value: The metric's mean, in the metric's own sign.
        ci: Its 95 % interval over prompts; None for a value of a model's whole set.
        n: Number of images, or of prompts if a prompt's images are measured together.
    """

    model: str
    people: float
    people_ci: Range
    value: float
    ci: Range
    n: int


def list_means(human: HumanValues, values: MetricValues, clusters: Mapping[str, str]) -> Iterator[ModelMean]:
    """Yield the means of each model with a value, by name."""
    units = make_units(human, "prompt" if values.scope == "prompt" else "image", values, clusters)
    sign = -1.0 if values.direction == "lower" else 1.0
    for models in sorted(set(units.models)):
        own = units.of_models(models)
        low, high = (0, 1) if human.form == "yes-no" else human.scale
        people = mean_interval(own.people, own.cluster, None, low=low, high=high)
        metric = mean_interval(own.predictor * sign, own.cluster, None, low=values.low, high=values.high)
        ci = None if values.scope == "model" else get_interval(metric)
        if math.isfinite(metric.value):
            yield ModelMean(models[0], people.value, get_interval(people), metric.value, ci, len(own))


def get_goodness(means: list[ModelMean], values: MetricValues) -> list[float]:
    """Return the metric's means with flipped signs if lower values are better."""
    return list(np.array([mean.value for mean in means]) * (-1.0 if values.direction == "lower" else 1.0))
