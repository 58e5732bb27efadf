"""The cells that a look at a growing run has: their values, their clusters and their information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .design import Design, Floats, make_design
from .estimate import Estimate, Range
from .looks import Look
from .means import WeightedRows, make_sample
from .variance_components import Components, estimate_table_components

_LEAST_STEP = 1e-3
"""Least share of the information that a look counts as bringing.

Seeds bring none if all of them give the same differences. Statistics of such looks are nearly the same, and a test
needs increments that vary.
"""


def read_cells(table: Floats, look: Look, *, crossed: bool) -> tuple[WeightedRows, Design]:
    """Return the values of a look's cells, and their clusters.

    Raises:
        ValueError: If the table is smaller than the look, or has no value.
    """
    if table.shape[0] < look.prompts or table.shape[1] < look.seeds:
        raise ValueError(f"a look of {look.prompts} x {look.seeds} needs as many cells, got {table.shape}")
    cells = table[: look.prompts, : look.seeds]
    there = ~np.isnan(cells)
    if there.all():
        return make_sample(cells.ravel(), None)[0], _make_full_design(*cells.shape, crossed)
    prompt, seed = np.nonzero(there)
    sample, _ = make_sample(cells[there], None)
    return sample, make_design(prompt, seed, len(prompt), interval="new", crossed=crossed)


@lru_cache(maxsize=32)
def _make_full_design(prompts: int, seeds: int, crossed: bool) -> Design:
    prompt, seed = np.indices((prompts, seeds)).reshape(2, -1)
    return make_design(prompt, seed, prompts * seeds, interval="new", crossed=crossed)


def has_values(table: Floats, look: Look) -> bool:
    """Return whether any cell of a look has a value."""
    return not bool(np.isnan(table[: look.prompts, : look.seeds]).all())


def is_unlimited(estimate: Estimate, bounds: Range) -> bool:
    """Return whether values do not vary so far, and no range limits those to come: then nothing is sure."""
    return estimate.lo == estimate.hi and None in bounds


def widen_constant(estimate: Estimate, bounds: Range) -> Estimate:
    """Return an infinite interval if values do not vary so far and no range limits them."""
    return replace(estimate, lo=-math.inf, hi=math.inf) if is_unlimited(estimate, bounds) else estimate


def estimate_look_components(table: Floats, *, crossed: bool = True) -> Components:
    """Return the variance components of a look; those of images alone if no two values differ.

    Prompts that lack a value under some seed do not count.

    Args:
        table: The cells of the look, shape (prompts, seeds); NaN where there is no value.
        crossed: True if prompts share their seeds.
    """
    complete = table[~np.isnan(table).any(axis=1)]
    if len(complete) < 2 or np.ptp(complete) == 0:
        return Components(0, 0, 1, *table.shape)
    return estimate_table_components(complete, crossed=crossed)


def find_information(components: Components, looks: Sequence[Look], end: Look) -> tuple[float, ...]:
    """Return the information of looks, over that of the planned end; it increases by at least a thousandth.

    Args:
        components: The variance components of the last look.
        looks: The looks so far.
        end: The planned end.
    """
    at_end = components.error(end.prompts, end.seeds)
    found = [0.0]
    for look in looks:
        found.append(max(at_end / components.error(look.prompts, look.seeds), found[-1] + _LEAST_STEP))
    return tuple(share / max(1.0, found[-1]) for share in found[1:])


def find_progress(components: Components, look: Look, end: Look) -> float:
    """Return the share of the information that a look would have if seeds had no effect.

    The first looks have few prompts and tell little about the effects of seeds. Where they exaggerate them, the
    share of all information is far too large.

    Args:
        components: The variance components of the look.
        look: The look.
        end: The planned end.
    """
    alone = replace(components, seed=0.0)
    at_look = alone.error(look.prompts, look.seeds)
    return alone.error(end.prompts, end.seeds) / at_look if at_look > 0 else look.images / end.images
