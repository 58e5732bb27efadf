"""The fewest prompts and seeds that show a difference, or give an interval of a width, and the cheapest design.

The observed difference is never used: power is that for the user's margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import scipy  # its `special` and `stats` are imported when they are first used

from .power import BoundedScore, find_half_width, find_power
from .variance_components import Components, draw_components

FEWEST_PROMPTS = 10
"""Number of prompts below which no design is proposed: its interval would be rough."""

MOST_PROMPTS = 1_000_000
"""Number of prompts above which a design is called out of reach."""

SEEDS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of seeds that are tried, unless the caller names others."""

_RANGE = (0.1, 0.9)


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
