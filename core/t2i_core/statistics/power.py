"""Power of a design's test, and the width of its interval, from variance components.

The observed difference is never used: power is that for the user's margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy  # its `special` and `stats` are imported when they are first used

from .design import Floats
from .variance_components import Components

_POINTS = 512


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
