"""Variance components of scores over prompts and seeds, and how sure a pilot is of them.

The variance of a mean over P prompts crossed with S shared seeds is Vp/P + Vs/S + Vc/(P S).

References:
    R. L. Brennan, Generalizability Theory (2001), for the components of a crossed design.
    F. E. Satterthwaite, An approximate distribution of estimates of variance components (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # its `special` and `stats` are imported when they are first used
from numpy.typing import ArrayLike

from .design import Floats

_DRAWS = 400


@dataclass(frozen=True)
class Components:
    """Variance components of one measure, or of the difference of two models.

    Attributes:
        prompt: Variance between prompts, in the squared unit of the measure.
        seed: Variance between seeds that prompts share.
        cell: Variance of images beyond both.
        prompts: Number of prompts of the pilot.
        seeds: Number of its seeds.
        one_seed: True if the pilot has one seed, so that images of one prompt are not told apart; `prompt` then
            holds both, and only designs with one seed can be predicted.
        nested: True if prompts do not share their seeds.
    """

    prompt: float
    seed: float
    cell: float
    prompts: int
    seeds: int
    one_seed: bool = False
    nested: bool = False

    def error(self, prompts: int, seeds: int) -> float:
        """Return the true variance of the mean under a design."""
        return self.prompt / prompts + self.seed / seeds + self.cell / (prompts * seeds)

    def variance(self, prompts: int, seeds: int) -> tuple[float, float]:
        """Return the expected variance of the mean under a design, and the degrees of freedom of its test."""
        images = prompts * seeds
        cell = self.cell / images
        by_prompt, by_seed = self.prompt / prompts + cell, self.seed / seeds + cell
        if seeds == 1 or self.nested:
            return by_prompt, prompts - 1.0
        by_image = (self.prompt + self.seed + self.cell) / images
        variance = max(by_prompt + by_seed - by_image, by_prompt, by_seed)
        terms = ((by_prompt, prompts - 1), (by_seed, seeds - 1), (by_image, images - 1))
        spread = sum(value**2 / df for value, df in terms)
        least = float(min(prompts, seeds) - 1)
        return variance, max(variance**2 / spread, least) if spread > 0 else least


def estimate_components(
    value: ArrayLike, prompt: ArrayLike, seed: ArrayLike | None, *, crossed: bool = True
) -> Components:
    """Return the variance components of a pilot.

    Several rows of one (prompt, seed) are averaged. Prompts that lack a seed are left out, because the components
    of a crossed design are those of a full rectangle.

    Args:
        value: One number for each row, shape (n,): a measure, or the difference of two models.
        prompt: The prompt of each row, shape (n,).
        seed: The seed of each row, shape (n,); None if rows have none.
        crossed: True if prompts share their seeds.

    Raises:
        ValueError: If there are fewer than two complete prompts, or all values are equal.
    """
    rows = pd.DataFrame({"value": np.asarray(value, np.float64), "prompt": np.asarray(prompt)})
    rows["seed"] = 0 if seed is None else np.asarray(seed)
    if not crossed:
        rows["seed"] = rows.groupby("prompt", observed=True).cumcount()
    table = rows.pivot_table(index="prompt", columns="seed", values="value", aggfunc="mean", observed=True)
    table = table.dropna()
    if len(table) < 2:
        raise ValueError(f"variance components need two prompts with all seeds, got {len(table)}")
    if np.ptp(table.to_numpy()) == 0:
        raise ValueError("all values of the pilot are equal and show no variation; measure more prompts")
    return estimate_table_components(table.to_numpy(), crossed=crossed)


def estimate_table_components(table: Floats, *, crossed: bool = True) -> Components:
    """Return the variance components of a full table, shape (prompts, seeds), of at least two prompts."""
    return analyze_mean_squares(*_mean_squares(table), *table.shape, crossed=crossed)


def _mean_squares(table: Floats) -> tuple[float, float, float]:
    """Return the mean squares of prompts, of seeds, and of what is left, of a full table (prompts, seeds)."""
    prompts, seeds = table.shape
    mean = table.mean()
    by_prompt, by_seed = table.mean(axis=1), table.mean(axis=0)
    of_prompts = seeds * float(np.square(by_prompt - mean).sum()) / (prompts - 1)
    if seeds == 1:
        return of_prompts, 0.0, 0.0
    of_seeds = prompts * float(np.square(by_seed - mean).sum()) / (seeds - 1)
    rest = table - by_prompt[:, None] - by_seed[None, :] + mean
    return of_prompts, of_seeds, float(np.square(rest).sum()) / ((prompts - 1) * (seeds - 1))


def analyze_mean_squares(
    of_prompts: float, of_seeds: float, rest: float, prompts: int, seeds: int, *, crossed: bool
) -> Components:
    """Return the components of mean squares; those below 0 count as 0.

    Args:
        of_prompts: Mean square of prompts.
        of_seeds: Mean square of seeds.
        rest: Mean square of what is left.
        prompts: Number of prompts.
        seeds: Number of seeds.
        crossed: True if prompts share their seeds.
    """
    if seeds == 1:
        return Components(of_prompts, 0.0, 0.0, prompts, 1, one_seed=True)
    if not crossed:  # images differ within prompts, whatever the labels of their seeds
        rest = ((prompts - 1) * rest + of_seeds) / prompts
        return Components(max((of_prompts - rest) / seeds, 0.0), 0.0, rest, prompts, seeds, nested=True)
    between_prompts = max((of_prompts - rest) / seeds, 0.0)
    return Components(between_prompts, max((of_seeds - rest) / prompts, 0.0), rest, prompts, seeds)


def draw_components(components: Components, rng_seed: int = 0, draws: int = _DRAWS) -> tuple[Components, ...]:
    """Return components as other pilots of the same size would give them.

    The mean squares of a pilot follow scaled chi-squared distributions.

    Args:
        components: The components of the pilot.
        rng_seed: Seed of the draws.
        draws: Number of draws.
    """
    rng = np.random.default_rng(rng_seed)
    prompts, seeds = components.prompts, components.seeds
    rest = components.cell
    of_prompts = seeds * components.prompt + rest
    of_seeds = prompts * components.seed + rest

    def draw(mean_square: float, df: int) -> Floats:
        return mean_square * rng.chisquare(df, draws) / df if df > 0 else np.zeros(draws)

    squares = draw(of_prompts, prompts - 1), draw(of_seeds, seeds - 1), draw(rest, (prompts - 1) * (seeds - 1))
    return tuple(
        analyze_mean_squares(p, s, r, prompts, seeds, crossed=not components.nested)
        for p, s, r in zip(*squares, strict=True)
    )


def find_unequal_variances(groups: Sequence[Floats]) -> float:
    """Return the p-value of the hypothesis that groups vary equally; 1 without two groups of three values.

    Args:
        groups: The values of each group, shape (n,) each.

    References:
        M. B. Brown and A. B. Forsythe, Robust tests for the equality of variances (1974).
    """
    apart = [np.abs(group - np.median(group)) for group in groups if len(group) >= 3]
    if len(apart) < 2:
        return 1.0
    total = np.concatenate(apart)
    between = sum(len(each) * (each.mean() - total.mean()) ** 2 for each in apart) / (len(apart) - 1)
    within = sum(float(np.square(each - each.mean()).sum()) for each in apart) / (len(total) - len(apart))
    if within == 0:
        return 1.0 if between == 0 else 0.0
    return float(scipy.special.fdtrc(len(apart) - 1, len(total) - len(apart), between / within))
