"""The rows of a unit: requested from the metric, checked, and told apart by their columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..api.errors import BrokenPlugin
from ..api.failure import Failure
from ..api.metric import Metric, SetMetric
from ..api.metric_input import Unit
from ..api.metric_output import Excluded, Note, Row, Rows, SettledMeasure
from ..api.plugin_guard import describe_component, guard_plugin
from ..api.plugin_info import MetricInfo
from ..api.prompt import RESERVED, find_invalid_facet
from ..api.resolver import ResolvedComponent


class Measuring(Protocol):
    """A metric that measures units: that of a job, or one whose questions people answered."""

    @property
    def metric(self) -> ResolvedComponent[MetricInfo]:
        """The metric."""
        ...

    @property
    def instance(self) -> Metric:
        """The created metric."""
        ...

    @property
    def measures_by_name(self) -> Mapping[str, SettledMeasure]:
        """Its measures by name, with their bounds."""
        ...


def rows_of(job: Measuring, unit: Unit) -> tuple[list[Row | Rows] | Failure | Excluded, list[Note]]:
    """Have the metric measure a unit.

    Returns:
        Its rows, or a failure; and its notes.

    Raises:
        BrokenPlugin: If the metric raises, or gives an impossible value.
    """
    where = f"on prompt {unit.prompt.id!r}, seed {unit.seed}" if unit.prompt else "on a model's set"
    with guard_plugin(job.metric, where):
        given = list(job.instance.measure(unit))
        notes = [each for each in given if isinstance(each, Note)]
        found = [each for each in given if not isinstance(each, Note)]
        without = next((f for f in found if isinstance(f, Failure | Excluded)), None)
        if without is not None:
            return without, notes
        fault = _find_fault(job, unit, found)
        if fault is None:
            rows = [row for row in found if isinstance(row, Row | Rows)]
            return list(map(_use_float, rows)), notes
    raise BrokenPlugin(f"{describe_component(job.metric)} gave {fault} {where}")


def _use_float(row: Row | Rows) -> Row | Rows:
    """Return a row whose value is a plain float."""
    if isinstance(row, Rows) or type(row.value) is float:
        return row
    return replace(row, value=float(row.value))


def _find_fault(job: Measuring, unit: Unit, found: Sequence[Any]) -> str | None:
    """Return what is wrong with the rows of a unit; None if nothing is."""
    if not found:
        return "neither rows nor a failure"
    given: set[tuple[Any, ...]] = set()
    for row in found:
        if not isinstance(row, Row | Rows):
            return f"{type(row).__name__} instead of Row"
        measure = job.measures_by_name.get(row.measure)
        if measure is None:
            return f"a row {row.measure!r}, which is not one of its measures,"
        if isinstance(row, Rows) and (wrong := _find_misfit(unit, row)) is not None:
            return wrong
        if isinstance(row, Rows) and not len(row.values):
            continue
        values = np.asarray(row.values).tolist() if isinstance(row, Rows) else [float(row.value)]
        if not all(map(math.isfinite, values)):
            return f"{next(v for v in values if not math.isfinite(v))} for {row.measure!r}"
        outside = next((end for end in (min(values), max(values)) if not measure.holds(end)), None)
        if outside is not None:
            return f"{outside} for {row.measure!r}, outside its declared range,"
        if hidden := RESERVED & row.facets.keys():
            return f"a facet {min(hidden)!r}, the name of one of the table's columns,"
        if (strange := find_invalid_facet(row.facets)) is not None:
            return f"a facet {strange!r} that is neither a text nor a number"
        if row.facets and isinstance(job.instance, SetMetric):
            return f"facets {sorted(row.facets)} on a row of a set, whose facets are those of prompts,"
        key = (row.measure, *sorted(row.facets.items()))
        if key in given:
            return f"two rows of {row.measure!r} that no facet tells apart"
        given.add(key)
    return None


def seeds_of(unit: Unit, rows: Rows) -> tuple[int, ...]:
    """Return the seeds of the samples of rows."""
    return unit.seeds if rows.seeds is None else rows.seeds


def _find_misfit(unit: Unit, rows: Rows) -> str | None:
    """Return how rows do not fit the samples of their unit; None if they do."""
    seeds = seeds_of(unit, rows)
    if np.shape(rows.values) != (len(seeds),):
        return f"values of shape {np.shape(rows.values)} for {rows.measure!r} of {len(seeds)} samples"
    if rows.because and len(rows.because) != len(seeds):
        return f"{len(rows.because)} reasons for {rows.measure!r} of {len(seeds)} samples"
    if rows.seeds is not None and (len(set(seeds)) < len(seeds) or not set(seeds) <= set(unit.seeds)):
        return f"seeds for {rows.measure!r} that are not those of the unit's samples, each once,"
    return None


def make_columns(unit: Unit, row: Row | Rows, seeds: str) -> dict[str, Any]:
    """Return the columns that tell a row what it is about.

    Args:
        unit: The unit.
        row: Its row.
        seeds: The seeds of its samples, for a value of a whole prompt.
    """
    columns: dict[str, Any] = {**(unit.prompt.facets if unit.prompt else {}), **row.facets}
    if len(unit.models) == 1:
        columns["model"] = unit.models[0]
    else:
        columns["model_a"], columns["model_b"] = unit.models
    if unit.prompt:
        columns["prompt"], columns["cluster"] = unit.prompt.id, unit.prompt.cluster_id
    if unit.seed is not None:
        columns["seed"] = unit.seed
    elif unit.prompt and (isinstance(row, Row) or row.together):
        columns["seeds"] = seeds
    columns["measure"] = row.measure
    return columns
