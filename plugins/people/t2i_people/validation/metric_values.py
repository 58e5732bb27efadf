"""The values of runs' metrics: of images, prompts, models and pairs of models."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

import pandas as pd
from t2i_core.api.errors import BadOption, UnknownName
from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.resolver import Resolver
from t2i_core.results.analysis import list_metrics
from t2i_core.results.result import make_title
from t2i_core.results.run import Run
from t2i_core.results.score_difference import select_whole_sets

Scope = Literal["image", "prompt", "model", "pair"]
Key = tuple[str, str, int | None]
"""Model (of a pair: `a`, newline, `b`), prompt and seed; prompt empty or seed None if a value is about all."""


@dataclass(frozen=True)
class MetricValues:
    """The values of one measure of a metric, higher is better unless `direction` is `none` or `not known`.

    Attributes:
        metric: The metric.
        by: Its judges, if the run has several.
        measure: The measure.
        facet: Level of the facet by which values are told apart; empty if by none.
        direction: `higher` or `lower` (signs are then flipped), `none` if neither is better, or `not known`, if
            the metric is not installed.
        scope: What a value is about.
        low: Lower bound of the measure, in its own sign; None if it is unbounded or not known.
        high: Upper bound, in the same way.
        values: The values.
        clusters: The cluster of each prompt.
    """

    metric: str
    by: str | None
    measure: str
    facet: str
    direction: Literal["higher", "lower", "none", "not known"]
    scope: Scope
    low: float | None
    high: float | None
    values: Mapping[Key, float] = field(repr=False)
    clusters: Mapping[str, str] = field(repr=False)

    @property
    def title(self) -> str:
        """The metric, with its judges if there are several."""
        return make_title(self.metric, self.by)

    @cached_property
    def of_prompts(self) -> Mapping[tuple[str, str], float]:
        """The mean value of each model and prompt."""
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for (model, prompt, _), value in self.values.items():
            found[model, prompt].append(value)
        return {key: _mean(values) for key, values in found.items()}

    def find(self, models: tuple[str, ...], prompt: str, seeds: tuple[tuple[int, ...], ...] | None) -> float:
        """Return the value of one side, or the first side's minus the second's; NaN if a part is missing.

        Args:
            models: One label or two.
            prompt: The prompt.
            seeds: Seeds of each side; None or empty ones for all images of the prompt.
        """
        if self.scope == "pair":
            return self._find_side("\n".join(models), prompt, seeds[0] if seeds and len(set(seeds)) == 1 else ())
        sides = [
            self._find_side(model, prompt, own)
            for model, own in zip(models, seeds or [()] * len(models), strict=True)
        ]
        return sides[0] if len(sides) == 1 else _mean([sides[0] - sides[1]])

    def _find_side(self, model: str, prompt: str, seeds: tuple[int, ...]) -> float:
        if self.scope == "model" or not seeds or (model, prompt, None) in self.values:
            return self.of_prompts.get((model, "" if self.scope == "model" else prompt), math.nan)
        return _mean([self.values.get((model, prompt, seed), math.nan) for seed in seeds])


def _mean(values: Sequence[float]) -> float:
    """Return the mean to 12 digits: equal values in another order must tie."""
    return float(f"{sum(values) / len(values):.12g}")


def read_metric_values(
    runs: Iterable[Run], resolver: Resolver[Any], metrics: Iterable[str] = (), by: str | None = None
) -> list[MetricValues]:
    """Return the values of every measure of the runs' metrics.

    Args:
        runs: The runs.
        resolver: Finds the metrics, for what they say of their measures.
        metrics: Names of metrics; all, if empty.
        by: Column of the measurements whose levels are told apart.

    Raises:
        UnknownName: If no run has a metric of a name.
        BadOption: If two runs have different values for one image, or no run has the column or any values.
    """
    wanted = set(metrics)
    found: dict[tuple[str, str | None, str, str], MetricValues] = {}
    seen: set[str] = set()
    named = by is None
    for run in runs:
        table = run.measurements()
        seen |= {result.metric for result in run.results}
        if by is not None:
            if by not in table:
                continue
            table = table[table[by].notna()]
            named = True
        table = table[table["metric"].isin(wanted)] if wanted else table
        measures = {
            (name, measure.name): measure.settled(part.options)
            for name, part in list_metrics(run, resolver).made.items()
            for measure in part.info.measures
        }
        for values in _split(table, measures, by):
            key = (values.metric, values.by, values.measure, values.facet)
            found[key] = _join(found[key], values, run) if key in found else values
    if not named:
        raise BadOption(f"--by {by}: no measurements.csv of these runs has this column")
    for name in sorted(wanted - seen):
        raise UnknownName.among("metric", name, sorted(seen), f"of these runs: {', '.join(sorted(seen))}")
    if not found:
        raise BadOption("these runs have no measured values; evaluate metrics on their images with t2i eval")
    return list(found.values())


def _split(
    table: pd.DataFrame, measures: Mapping[tuple[str, str], SettledMeasure], by: str | None
) -> Iterator[MetricValues]:
    columns = ["metric", "by", "measure", *([by] if by else [])]
    table = table.reindex(columns=list(dict.fromkeys([*table.columns, "by"])))
    for levels, rows in table.groupby(columns, dropna=False, sort=False):
        metric, judges, measure, *facet = ("" if pd.isna(level) else str(level) for level in cast(Any, levels))
        if "left_out" in rows and rows["left_out"].notna().any():  # of a set
            rows = select_whole_sets(rows, by)
            rows = rows[rows["left_out"] == "none"]  # its values without each block serve its interval alone
        rows = rows.reindex(columns=list(dict.fromkeys([*rows.columns, *_UNIT])))
        info = measures.get((metric, measure))
        paired = rows["model"].isna().all()
        sign, shift = 1.0, 0.0
        direction: Any = "not known"
        if info is not None:
            direction = {True: "higher", False: "lower", None: "none"}[info.higher_is_better]
            sign = -1.0 if info.higher_is_better is False else 1.0
            if paired and info.low is not None and info.high is not None:
                shift = (info.low + info.high) / 2  # points of model_a: half the range is a tie
        if paired:
            rows = rows.assign(model=rows["model_a"] + "\n" + rows["model_b"])
        rows = rows.assign(prompt=rows["prompt"].fillna(""), seed=rows["seed"].fillna(-1).astype(int))
        means = rows.groupby(["model", "prompt", "seed"], sort=False)["value"].mean()
        values: dict[Key, float] = {
            (model, prompt, None if seed < 0 else int(seed)): sign * (value - shift)
            for (model, prompt, seed), value in cast(Iterable[tuple[Any, float]], means.items())
        }
        if paired:
            values |= {("\n".join(key[0].split("\n")[::-1]), *key[1:]): -value for key, value in values.items()}
        scope: Scope = (
            "pair" if paired
            else "model" if (rows["prompt"] == "").all()
            else "prompt" if (rows["seed"] < 0).all()
            else "image"
        )  # fmt: skip
        clusters = dict(zip(rows["prompt"], rows["cluster"].fillna(rows["prompt"]), strict=True))
        low, high = (None, None) if info is None else (info.low, info.high)
        yield MetricValues(
            metric,
            judges or None,
            measure,
            facet[0] if facet else "",
            direction,
            scope,
            low,
            high,
            values,
            clusters,
        )


_UNIT = ("model", "model_a", "model_b", "prompt", "cluster", "seed")


def _join(first: MetricValues, second: MetricValues, run: Run) -> MetricValues:
    """Return the values of two runs together.

    Raises:
        BadOption: If they differ on what both have.
    """
    for key in first.values.keys() & second.values.keys():
        if not math.isclose(first.values[key], second.values[key], rel_tol=1e-9, abs_tol=1e-12):
            model, prompt, _ = key
            raise BadOption(
                f"{run.path}: its {first.metric} of model {model!r}, prompt {prompt!r} is another than in an "
                "earlier run; give only one of these runs"
            )
    return MetricValues(
        first.metric, first.by, first.measure, first.facet, first.direction, first.scope, first.low, first.high,
        {**first.values, **second.values}, {**first.clusters, **second.clusters},
    )  # fmt: skip
