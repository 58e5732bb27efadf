"""Numbers of prompts and seeds: variance components of a pilot, and width and power of other designs.

The variance of a mean over P prompts crossed with S shared seeds is Vp/P + Vs/S + Vc/(P S). The observed
difference is never used: power is that for the user's margin.

References:
    R. L. Brennan, Generalizability Theory (2001), for the components of a crossed design.
    F. E. Satterthwaite, An approximate distribution of estimates of variance components (1946).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import numpy as np
import pandas as pd
import scipy  # its `special` and `stats` are imported when they are first used
from numpy.typing import ArrayLike

from .design import Floats

FEWEST_PROMPTS = 10
"""Number of prompts below which no design is proposed: its interval would be rough."""

MOST_PROMPTS = 1_000_000
"""Number of prompts above which a design is called out of reach."""

SEEDS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of seeds that are tried, unless the caller names others."""

_DRAWS = 400
_POINTS = 512
_RANGE = (0.1, 0.9)


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


@dataclass(frozen=True)
class Prices:
    """Prices of the parts of a design, in any one unit (dollars, seconds).

    Attributes:
        prompt: Cost of a prompt (writing it, asking people about it).
        image: Cost of an image of one model.
        answer: Cost of a judge's answer about it.
    """

    prompt: float = 0.0
    image: float = 1.0
    answer: float = 0.0

    def cost(self, prompts: int, seeds: int) -> float:
        """Return the cost of a design for one model."""
        return prompts * self.prompt + prompts * seeds * (self.image + self.answer)


@dataclass(frozen=True)
class SampleSize:
    """A design that is large enough.

    Attributes:
        prompts: Number of prompts.
        seeds: Number of seeds of each prompt.
        low: Number of prompts if the pilot's components are too high; the tenth percentile.
        high: Number of prompts if they are too low; the ninetieth percentile. None if that is out of reach.
        cost: Its cost for one model.
    """

    prompts: int
    seeds: int
    low: int
    high: int | None
    cost: float

    @property
    def images(self) -> int:
        """Number of images of a model."""
        return self.prompts * self.seeds


def find_power(components: Components, prompts: int, seeds: int, margin: float, level: float = 0.95) -> float:
    """Return the probability that a two-sided test finds a true difference of `margin`.

    Args:
        components: Components of the paired difference.
        prompts: Number of prompts.
        seeds: Number of seeds.
        margin: The difference, above 0.
        level: Confidence level of the interval that must exclude 0.
    """
    quantiles, errors, se = _draw_tests(components, prompts, seeds, level)
    half_widths = quantiles * errors
    found = scipy.special.ndtr((margin - half_widths) / se) + scipy.special.ndtr((-margin - half_widths) / se)
    return float(found.mean())


@dataclass(frozen=True)
class BoundedScore:
    """A score within a range, whose interval is formed on the scale of a proportion.

    Attributes:
        share: The score as a share of the range, strictly between 0 and 1.
        width: Width of the range, in the unit of the measure.
        binary: True if all values are 0 or 1: Wilson's interval on the effective number of trials; otherwise t on
            the logit scale.
    """

    share: float
    width: float = 1.0
    binary: bool = False

    def find_half_width(self, quantiles: Floats, errors: Floats) -> Floats:
        """Return half widths of intervals, from quantiles of t and standard errors, shape (n,) each."""
        variance = self.share * (1 - self.share)
        errors = np.maximum(errors / self.width, 1e-12)
        if self.binary:
            trials = variance / errors**2
            spread = np.sqrt(variance / trials + (quantiles / (2 * trials)) ** 2)
            return np.asarray(self.width * quantiles * spread / (1 + quantiles**2 / trials))
        centre, half = scipy.special.logit(self.share), quantiles * errors / variance
        ends = scipy.special.expit(centre + half), scipy.special.expit(centre - half)
        return np.asarray(self.width * (ends[0] - ends[1]) / 2)


def find_half_width(
    components: Components, prompts: int, seeds: int, score: BoundedScore | None = None, level: float = 0.95
) -> float:
    """Return the expected half width of the interval of a mean.

    Args:
        components: Components of the measure.
        prompts: Number of prompts.
        seeds: Number of seeds.
        score: The pilot's score, if the measure has a range. If None, the interval is plain t.
        level: The confidence level.
    """
    quantiles, errors, _ = _draw_tests(components, prompts, seeds, level)
    half_widths = quantiles * errors if score is None else score.find_half_width(quantiles, errors)
    return float(half_widths.mean())


def _draw_tests(components: Components, prompts: int, seeds: int, level: float) -> tuple[Floats, Floats, float]:
    """Return quantiles of t and standard errors as runs of this design would estimate them, and the true error.

    The test does not know the components: it estimates the variance and its degrees of freedom, and with few seeds
    both vary much. The mean squares follow scaled chi-squared distributions.
    """
    images, spread = prompts * seeds, components.cell
    of_prompts, of_seeds = spread + seeds * components.prompt, spread + prompts * components.seed
    se = math.sqrt(components.error(prompts, seeds))
    seed_lattice, prompt_lattice, rest_lattice = _make_lattice()
    by_prompt = of_prompts * _find_mean_square(prompts - 1, prompt_lattice)
    if seeds == 1 or components.nested:
        t = np.full(_POINTS, scipy.special.stdtrit(prompts - 1, 0.5 + level / 2))
        return t, np.sqrt(by_prompt / images), se
    left = (prompts - 1) * (seeds - 1)
    by_seed = of_seeds * _find_mean_square(seeds - 1, seed_lattice)
    rest = spread * _find_mean_square(left, rest_lattice)
    by_image = ((prompts - 1) * by_prompt + (seeds - 1) * by_seed + left * rest) / (images - 1)
    terms = [each / images for each in (by_prompt, by_seed, by_image)]
    variance = np.maximum(terms[0] + terms[1] - terms[2], np.maximum(terms[0], terms[1]))
    dfs = prompts - 1, seeds - 1, images - 1
    total = sum(each**2 / df for each, df in zip(terms, dfs, strict=True))
    least = float(min(prompts, seeds) - 1)
    df = np.maximum(np.divide(variance**2, total, out=np.full(_POINTS, least), where=total > 0), least)
    return scipy.special.stdtrit(df, 0.5 + level / 2), np.sqrt(variance), se


@cache
def _make_lattice() -> tuple[Floats, Floats, Floats]:
    """Return points that fill the unit cube evenly, shape (_POINTS,) each.

    The first coordinate is exactly even. It serves the mean square of seeds, which varies most: with two seeds, as
    many random points would leave errors of several hundredths of the power.
    """
    number, ratio = np.arange(_POINTS), 1.324717957244746  # the plastic number, the golden ratio of two dimensions
    return (number + 0.5) / _POINTS, (0.5 + number / ratio) % 1, (0.5 + number / ratio**2) % 1


def _find_mean_square(df: int, lattice: Floats) -> Floats:
    """Return mean squares with the expectation 1, as quantiles of chi-squared over its degrees of freedom."""
    return np.asarray(2 * scipy.special.gammaincinv(df / 2, lattice) / df)


def find_sample_sizes(
    components: Components,
    margin: float,
    power: float = 0.8,
    seeds: Iterable[int] = SEEDS,
    prices: Prices = Prices(),
) -> tuple[SampleSize, ...]:
    """Return for each number of seeds the fewest prompts that show a difference of `margin` with this power.

    Args:
        components: Components of the paired difference.
        margin: The smallest difference that matters, above 0.
        power: Probability of finding it, in (0, 1).
        seeds: Numbers of seeds.
        prices: Prices of prompts and images.
    """

    def is_enough(prompts: int, seeds: int) -> bool:
        return find_power(components, prompts, seeds, margin) >= power

    return _find_sizes(components, margin, power, seeds, prices, is_enough)


def find_fewest_prompts(components: Components, seeds: int, margin: float, power: float) -> int | None:
    """Return the fewest prompts that show a difference with this power; None if no number within reach does."""
    return _find_fewest(lambda prompts: find_power(components, prompts, seeds, margin) >= power)


def find_roughly_fewest_prompts(components: Components, seeds: int, margin: float, power: float) -> int | None:
    """Return nearly the same number a hundred times as fast: the variance counts as known."""

    def is_enough(prompts: int) -> bool:
        variance, df = components.variance(prompts, seeds)
        quantiles = float(scipy.special.stdtrit(df, 0.975) + scipy.special.stdtrit(df, power))
        return margin >= quantiles * math.sqrt(variance)

    return _find_fewest(is_enough)


def find_sizes_of_width(
    components: Components,
    half_width: float,
    score: BoundedScore | None = None,
    seeds: Iterable[int] = SEEDS,
    prices: Prices = Prices(),
) -> tuple[SampleSize, ...]:
    """Return for each number of seeds the fewest prompts whose interval is at most this half width wide.

    The arguments are those of `find_half_width` and `find_sample_sizes`.
    """

    def is_enough(prompts: int, seeds: int) -> bool:
        return find_half_width(components, prompts, seeds, score) <= half_width

    return _find_sizes(components, half_width, 0.5, seeds, prices, is_enough)


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


def find_cheapest(sizes: Sequence[SampleSize]) -> SampleSize | None:
    """Return the design that costs least; of equal ones the one with more prompts. None without designs.

    A design with one seed, whose interval would lack the variation between seeds, counts only if all have one.
    """
    several = [size for size in sizes if size.seeds > 1]
    return min(several or sizes, key=lambda size: (size.cost, -size.prompts), default=None)


class _Enough(Protocol):
    """Decides whether a design is large enough."""

    def __call__(self, prompts: int, seeds: int) -> bool:
        """Return whether it is."""
        ...


def _find_sizes(
    components: Components,
    margin: float,
    power: float,
    seeds: Iterable[int],
    prices: Prices,
    is_enough: _Enough,
) -> tuple[SampleSize, ...]:
    """Return the smallest design for each number of seeds; none where no number of prompts is enough.

    The range is that of a quicker rule under components as other pilots would give them, times the ratio of both
    rules for the components at hand.
    """

    def find_roughly(each: Components, count: int) -> float:
        return find_roughly_fewest_prompts(each, count, margin, power) or math.inf

    others = draw_components(components)
    found = []
    for count in (1,) if components.one_seed else seeds:
        prompts = _find_fewest(partial(is_enough, seeds=count))
        if prompts is None:
            continue
        drawn = sorted(find_roughly(each, count) for each in others)
        middle = find_roughly(components, count)
        low, high = (prompts * drawn[int(share * (len(drawn) - 1))] / middle for share in _RANGE)
        found.append(
            SampleSize(
                prompts,
                count,
                max(FEWEST_PROMPTS, min(prompts, round(low))) if low < math.inf else prompts,
                max(prompts, round(high)) if high < MOST_PROMPTS else None,
                prices.cost(prompts, count),
            )
        )
    return tuple(found)


def _find_fewest(is_enough: Callable[[int], bool]) -> int | None:
    """Return the fewest prompts that are enough, of a rule that more prompts only help; None if no number is."""
    least, most = FEWEST_PROMPTS - 1, FEWEST_PROMPTS
    while not is_enough(most):
        if most >= MOST_PROMPTS:
            return None
        least, most = most, min(4 * most, MOST_PROMPTS)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle, most)
    return most
