"""A draw of units to label: reproducible from what is kept of it, and extended by later waves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.errors import BadOption
from t2i_core.results.label_units import MeasuredUnit, name_outcomes
from t2i_core.statistics import allocate_labels, draw_cells, draw_labels

Design = Literal["simple", "stratified", "cells"]


@dataclass(frozen=True)
class DrawWave:
    """Units that were drawn at one time.

    Attributes:
        stratified: Whether they were drawn from each stratum.
        size: Number of units, or of cells; in all, or by stratum.
    """

    stratified: bool
    size: int | Mapping[Hashable, int]


@dataclass(frozen=True)
class DrawRecord:
    """Record of a draw, enough to repeat it.

    Attributes:
        run: Identity of the run.
        metric: Name of the metric.
        seed: Random seed.
        cells: Whether the units of all models for one prompt and seeds are drawn together.
        waves: The waves.
    """

    run: str
    metric: str
    seed: int
    cells: bool
    waves: tuple[DrawWave, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal record."""
        waves = [{"stratified": wave.stratified, "size": wave.size} for wave in self.waves]
        return {"run": self.run, "metric": self.metric, "seed": self.seed, "cells": self.cells, "waves": waves}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DrawRecord:
        """Return the record that `to_json` wrote."""
        waves = tuple(DrawWave(bool(wave["stratified"]), wave["size"]) for wave in data["waves"])
        return cls(data["run"], data["metric"], data["seed"], data["cells"], waves)


@dataclass(frozen=True)
class UnitDraw:
    """Units, and those of them that are drawn.

    Attributes:
        units: All units that can be drawn.
        strata: The stratum of each, in words: models and outcomes of its unit, or of its cell.
        wave: Number of the wave in which each was drawn; -1 if it was not. Shape (units,).
        probability: Probability of each to be drawn by now, shape (units,).
        seed: Random seed of the order in which they are labelled.
        cells: Whether whole cells are drawn.
    """

    units: tuple[MeasuredUnit, ...]
    strata: tuple[str, ...]
    wave: NDArray[np.intp]
    probability: NDArray[np.float64]
    seed: int
    cells: bool

    @cached_property
    def drawn(self) -> list[tuple[MeasuredUnit, float]]:
        """The drawn units with their probabilities: wave after wave, each in random order, cells together."""
        order = np.random.default_rng(self.seed).permutation(len(self.units))
        if self.cells:
            order = order[_encode_cells(self.units)]
        rows = sorted(np.flatnonzero(self.wave >= 0), key=lambda row: (self.wave[row], order[row]))
        return [(self.units[row], float(self.probability[row])) for row in rows]


def select_units(units: Sequence[MeasuredUnit], cells: bool) -> tuple[tuple[MeasuredUnit, ...], tuple[str, ...]]:
    """Return the units that can be drawn, and their strata.

    Args:
        units: All units.
        cells: Whether the units of all models for one prompt and seeds are drawn together. Those of which a model
            has none are left out.

    Raises:
        BadOption: If the models have no prompt and seeds in common.
    """
    names = name_outcomes([unit.value for unit in units])
    own = [f"{' and '.join(unit.models)}: {names[unit.value]}" for unit in units]
    if not cells:
        return tuple(units), tuple(own)
    table = pd.DataFrame({"cell": _encode_cells(units), "models": [unit.models for unit in units], "own": own})
    whole = table.groupby("cell")["models"].transform("nunique") == table["models"].nunique()
    if not whole.any():
        raise BadOption("--design cells: no prompt and seed has a value of every model; use another design")
    joined = table.groupby("cell")["own"].transform(lambda words: "; ".join(sorted(words)))
    return (
        tuple(unit for unit, kept in zip(units, whole, strict=True) if kept),
        tuple(joined[whole]),
    )


def repeat_draw(units: Sequence[MeasuredUnit], record: DrawRecord) -> UnitDraw:
    """Return the draw that a record describes.

    Raises:
        ValueError: If the units are not those of which the record's units were drawn.
    """
    own, strata = select_units(units, record.cells)
    wave = np.full(len(own), -1, np.intp)
    probability = np.zeros(len(own))
    for number, each in enumerate(record.waves):
        options: dict[str, Any] = {
            "strata": np.array(strata) if each.stratified else None,
            "labelled": wave >= 0,
            "rng_seed": record.seed,
        }
        if record.cells:
            prompts, seeds = [unit.prompt for unit in own], [" ".join(map(str, unit.seeds)) for unit in own]
            found = draw_cells(np.array(prompts), np.array(seeds), each.size, **options)
        else:
            found = draw_labels(len(own), each.size, **options)
        wave[found.rows], probability = number, found.probability
    return UnitDraw(own, strata, wave, probability, record.seed, record.cells)


def begin_draw(
    units: Sequence[MeasuredUnit], of: tuple[str, str], design: Design, count: int, seed: int
) -> DrawRecord:
    """Return a draw of one wave.

    Args:
        units: All units.
        of: Identity of the run, and name of the metric.
        design: `stratified` draws as many of each stratum, as far as it has that many.
        count: Number of units to label; with `cells`, as near as whole cells allow.
        seed: Random seed.
    """
    cells = design == "cells"
    own, _ = select_units(units, cells)
    size = min(_count_draws(own, cells, count), _count_draws(own, cells, len(own)))
    return DrawRecord(*of, seed, cells, (DrawWave(design == "stratified", size),))


def extend_draw(
    units: Sequence[MeasuredUnit], record: DrawRecord, labels: Mapping[MeasuredUnit, float], count: int
) -> DrawRecord:
    """Return a draw with one more wave, from the strata in which more labels narrow the interval most.

    Args:
        units: All units.
        record: The draw so far.
        labels: What the metric measures by people's answers, by unit.
        count: Number of further units to label.
    """
    before = repeat_draw(units, record)
    judged = np.array([unit.value for unit in before.units])
    said = np.array([labels.get(unit, np.nan) for unit in before.units])
    strata, group = np.array(before.strata), np.array([" and ".join(unit.models) for unit in before.units])
    left = before.wave < 0
    if record.cells:
        codes = _encode_cells(before.units)
        first = np.unique(codes, return_index=True)[1]
        judged, said = (_contrast_cells(values, codes, group) for values in (judged, said))
        strata, group, left = strata[first], np.zeros(len(first), np.intp), left[first]
    size = min(_count_draws(before.units, record.cells, count), int(left.sum()))
    usable = left | ~np.isnan(said)  # units that nobody could label tell nothing, and are not drawn again
    sizes = allocate_labels(judged[usable], said[usable], strata[usable], size, group=group[usable]).sizes
    return replace(record, waves=(*record.waves, DrawWave(True, {str(k): n for k, n in sizes.items() if n})))


def _contrast_cells(
    values: NDArray[np.float64], codes: NDArray[np.intp], models: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the difference of two models in each cell, or the mean of more models."""
    first = models == models[0]
    signs = np.where(first, 1.0, -1.0) if len(set(models)) == 2 else np.full(len(values), 1 / len(set(models)))
    return np.bincount(codes, signs * values).astype(np.float64)


def _count_draws(units: Sequence[MeasuredUnit], cells: bool, count: int) -> int:
    """Return how many draws give this number of units, at least one."""
    per_draw = len({unit.models for unit in units}) if cells else 1
    return max(1, round(count / per_draw))


def _encode_cells(units: Sequence[MeasuredUnit]) -> NDArray[np.intp]:
    """Return the number of each unit's cell, in the order of their first units."""
    return np.asarray(pd.factorize(pd.Series([(unit.prompt, unit.seeds) for unit in units]))[0], np.intp)
