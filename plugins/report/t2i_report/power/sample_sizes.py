"""Numbers of prompts and seeds that other designs of stored runs need: the results of `t2i power`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from t2i_core.api.figure import LinePlot
from t2i_core.statistics.needed_design import MARGIN, POWER
from t2i_core.statistics.power import BoundedScore, find_half_width
from t2i_core.statistics.sample_size import MOST_PROMPTS, SEEDS, Prices, SampleSize, find_cheapest
from t2i_core.statistics.variance_components import Components

WIDTHS = LinePlot(
    x="images",
    y="half_width",
    colour="seeds",
    facet="of",
    scale="log",
    x_title="images a model",
    y_title="half width of the interval",
)
"""Half width of an interval against the number of images, a line for each number of seeds."""

_DRAWN_PROMPTS = tuple(int(n) for n in np.unique(np.geomspace(10, 2000, 24).astype(int)))


@dataclass(frozen=True)
class Goal:
    """The smallest difference that matters, and the chance of finding it.

    Attributes:
        margin: The difference, in the unit of the measure; also the half width of a single model's interval.
        power: The chance of finding a true difference of this size.
        prices: Prices of prompts, images and answers. If None, they are the seconds that the runs measured.
    """

    margin: float = MARGIN
    power: float = POWER
    prices: Prices | None = None


DEFAULT_GOAL = Goal()
"""A difference of .05, found with a chance of 80 %."""


@dataclass(frozen=True)
class LevelNeed:
    """Number of prompts that one level of a facet needs by itself.

    Attributes:
        facet: The facet.
        level: The level.
        seeds: Number of seeds.
        prompts: Number of prompts of this level; None if no number within reach is enough.
        components: Variance components of the level's prompts.
    """

    facet: str
    level: str
    seeds: int
    prompts: int | None
    components: Components


@dataclass(frozen=True)
class DesignNeed:
    """The designs that one comparison or score needs.

    Attributes:
        metric: Name of the metric.
        of: The models that are compared, or the one model.
        components: Variance components of the pilot.
        sizes: The smallest design for each number of seeds.
        score: The score of a single model within its range; None for a difference.
        unit: What a set of models is measured on: `prompts`, or `images` for scores of whole sets.
        rough: True if the score is not a mean over images, so that its variance is only scaled by their number.
        price_unit: Unit of the costs: `images`, `seconds`, or `cost` if the user named prices.
        levels: Needs of the levels of facets whose levels differ much.
    """

    metric: str
    of: tuple[str, ...]
    components: Components
    sizes: tuple[SampleSize, ...]
    score: BoundedScore | None = None
    unit: str = "prompts"
    rough: bool = False
    price_unit: str = "images"
    levels: tuple[LevelNeed, ...] = ()

    @property
    def title(self) -> str:
        """The metric and the models."""
        return f"{self.metric}: {' against '.join(self.of)}"

    @property
    def cheapest(self) -> SampleSize | None:
        """The design that costs least. A single seed counts only if the pilot's seeds have nothing in common."""
        can_have_one = self.components.one_seed or self.components.nested
        return find_cheapest([size for size in self.sizes if size.seeds > 1 or can_have_one])

    def describe(self, goal: Goal) -> str:
        """Return the cheapest design in words."""
        best = self.cheapest
        if len(self.of) == 2:
            wanted = f"to see a difference of {goal.margin:g} with power {goal.power:g}"
        else:
            wanted = f"for an interval of +-{goal.margin:g}"
        if best is None:
            tried = f"{MOST_PROMPTS:,} {self.unit}" + (f" and {max(SEEDS)} seeds" if self.components.seed else "")
            return f"{wanted}: no design of up to {tried} is enough; choose a larger --margin"
        above = f"{best.low:,} to {best.high:,}" if best.high is not None else f"{best.low:,} or more"
        if self.unit == "images":
            size = f"{best.prompts:,} images a model, range {above}"
        else:
            seeds = f"{best.seeds} seed{'s' if best.seeds > 1 else ''}"
            size = f"{best.prompts:,} prompts x {seeds} ({best.images:,} images a model), range of prompts {above}"
        return f"{wanted}: {size}{' (rough: not a mean over images)' if self.rough else ''}"

    def describe_levels(self) -> Iterator[str]:
        """Yield for each facet whose levels differ much the prompts that its levels need by themselves."""
        for facet in dict.fromkeys(each.facet for each in self.levels):
            own = [each for each in self.levels if each.facet == facet]
            needs = [
                f"{each.level} {f'{each.prompts:,}' if each.prompts is not None else 'out of reach'}"
                for each in own
            ]
            yield f"prompts of each level of {facet} alone, with {own[0].seeds} seeds: {', '.join(needs)}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each number of seeds."""
        for size in self.sizes:
            row = {
                "metric": self.metric,
                "models": " against ".join(self.of),
                **asdict(size),
                "images": size.images,
            }
            yield {**row, "price_unit": self.price_unit, "cheapest": size == self.cheapest}

    def widths(self) -> pd.DataFrame:
        """Return the expected half width of designs, for `WIDTHS`."""
        counts = (1,) if self.components.one_seed else sorted({size.seeds for size in self.sizes} or {1, 4, 16})
        return pd.DataFrame(
            [
                {
                    "images": prompts * seeds,
                    "seeds": f"{seeds} seed{'s' if seeds > 1 else ''}",
                    "half_width": find_half_width(self.components, prompts, seeds, self.score),
                    "of": self.title,
                }
                for seeds in counts
                for prompts in _DRAWN_PROMPTS
            ]
        )


@dataclass(frozen=True)
class DesignNeeds:
    """The designs that the comparisons and scores of runs need.

    Attributes:
        found: One for each metric and pair of models, or single model.
        left_out: What has none, with the reasons.
    """

    found: tuple[DesignNeed, ...]
    left_out: tuple[tuple[str, str], ...]

    def table(self) -> pd.DataFrame:
        """Return a row for each need and number of seeds."""
        return pd.DataFrame([row for need in self.found for row in need.rows()])
