"""The units that people label, and the outcomes by which they are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ..api.metric_output import Measure

MOST_OUTCOMES = 5
"""Largest number of distinct values that each count as an outcome; more are divided into thirds."""


@dataclass(frozen=True)
class MeasuredUnit:
    """Unit that a metric measures: an image, the images of a prompt, or two models' images of a prompt.

    Attributes:
        models: Label of the model, or of the two models of a pair.
        prompt: Id of the prompt.
        seeds: Seeds of the images.
        value: What the metric measured; the mean, if it measured several values.
    """

    models: tuple[str, ...]
    prompt: str
    seeds: tuple[int, ...]
    value: float = field(compare=False)


def choose_measure(measures: Iterable[Measure], table: pd.DataFrame) -> str | None:
    """Return the measure whose values units have: the headline, or the first with rows; None without rows."""
    return next((each.name for each in measures if (table["measure"] == each.name).any()), None)


def average_units(rows: pd.DataFrame) -> list[MeasuredUnit]:
    """Return the units of a table of measurements of one measure, each with the mean of its values."""
    models = [c for c in ("model", "model_a", "model_b") if c in rows and rows[c].notna().any()]
    seed = "seed" if "seed" in rows and rows["seed"].notna().all() else "seeds"
    keys = [*models, "prompt", seed]
    named = rows.assign(**{key: rows[key].astype(str) for key in keys})
    means: dict[Hashable, float] = named.groupby(keys, sort=False)["value"].mean().to_dict()
    return [
        MeasuredUnit(tuple(key[: len(models)]), key[-2], tuple(map(int, key[-1].split())), float(value))
        for key, value in means.items()
        if isinstance(key, tuple)
    ]


def name_outcomes(values: Sequence[float]) -> dict[float, str]:
    """Return the outcome that each value belongs to, in words."""
    distinct = sorted(set(values))
    if len(distinct) <= MOST_OUTCOMES:
        return {value: f"{value:g}" for value in distinct}
    ordered = sorted(values)
    thirds = [ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]]
    words = ("low", "middle", "high")
    return {value: words[sum(value >= end for end in thirds)] for value in distinct}
