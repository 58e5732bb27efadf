"""The design that a comparison needs, from the variances of its own interval.

A comparison without a verdict is a pilot for a larger one. Its variances over prompts, seeds and cells give the
variance components; those of ratings and other scores that are not means do so roughly, because they are scaled as
if the score were a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .design import TermVariance
from .sample_size import SEEDS, find_fewest_prompts, find_roughly_fewest_prompts
from .variance_components import Components, analyze_mean_squares

MARGIN = 0.05
"""Difference that is worth seeing, in the unit of the measure, unless the user names another one."""

POWER = 0.8
"""Chance of seeing it, unless the user names another one."""


@dataclass(frozen=True)
class NeededDesign:
    """The smallest design that shows a difference.

    Attributes:
        prompts: Number of prompts; None if no number within reach suffices.
        seeds: Number of seeds of each prompt; None if it stays that of the comparison.
    """

    prompts: int | None
    seeds: int | None


def read_components(terms: Sequence[TermVariance]) -> Components:
    """Return the variance components that an interval's variances imply.

    For a mean over a full rectangle they are those of `estimate_components`.

    Args:
        terms: Variances over prompts; or over prompts, seeds and cells.

    Raises:
        ValueError: If there is no variance.
    """
    if not any(term.variance > 0 for term in terms):
        raise ValueError("all values of the pilot are equal and show no variation; measure more prompts")
    by_prompt, *crossed = terms
    prompts = by_prompt.groups
    if not crossed:
        return Components(by_prompt.variance * prompts, 0.0, 0.0, prompts, 1, one_seed=True)
    by_seed, by_cell = crossed
    seeds, cells = by_seed.groups, by_cell.groups
    squares = by_prompt.variance * cells, by_seed.variance * cells
    total = by_cell.variance * cells * (cells - 1)
    left = max(cells - prompts - seeds + 1, 1)
    rest = max(total - (prompts - 1) * squares[0] - (seeds - 1) * squares[1], 0.0) / left
    return analyze_mean_squares(*squares, rest, prompts, seeds, crossed=True)


def find_needed_design(
    terms: Sequence[TermVariance], margin: float = MARGIN, power: float = POWER
) -> NeededDesign | None:
    """Return the design with the fewest images that shows a difference; None if nothing varies.

    It has at least the seeds of the comparison, because images that exist should count.

    Args:
        terms: Variances of the difference over prompts; or over prompts, seeds and cells.
        margin: The smallest difference that matters, above 0. The observed one plays no part.
        power: Chance of finding it, in (0, 1).
    """
    try:
        components = read_components(terms)
    except ValueError:
        return None
    if components.one_seed:
        return NeededDesign(find_fewest_prompts(components, 1, margin, power), None)
    tried = [components.seeds, *(seeds for seeds in SEEDS if seeds > components.seeds)]
    rough = {seeds: find_roughly_fewest_prompts(components, seeds, margin, power) for seeds in tried}
    images = {seeds: prompts * seeds for seeds, prompts in rough.items() if prompts is not None}
    if not images:  # the variation between seeds alone is too large
        return NeededDesign(None, None)
    seeds = min(images, key=images.__getitem__)
    return NeededDesign(find_fewest_prompts(components, seeds, margin, power), seeds)
