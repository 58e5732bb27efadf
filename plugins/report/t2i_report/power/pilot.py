"""Models of stored runs that are planned together: one, or two that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2i_core.api.metric_output import SettledMeasure
from t2i_core.api.plugin_info import MetricInfo
from t2i_core.api.resolver import ResolvedComponent
from t2i_core.results.compared_model import ComparedModel
from t2i_core.results.metric_comparison import Judges
from t2i_core.results.result import make_title
from t2i_core.results.score_difference import StoredScoring
from t2i_core.statistics.power import BoundedScore
from t2i_core.statistics.sample_size import SEEDS, Prices, SampleSize, find_sample_sizes, find_sizes_of_width
from t2i_core.statistics.variance_components import Components

from .measured_prices import measure_prices
from .sample_sizes import Goal


@dataclass(frozen=True)
class Pilot:
    """One model, or two that are compared, under one metric and its judges, as a pilot for other designs.

    Attributes:
        metric: The metric.
        scoring: Its rules.
        sides: The models.
        by: The judges of each.
        goal: The difference that matters.
    """

    metric: ResolvedComponent[MetricInfo]
    scoring: StoredScoring
    sides: tuple[ComparedModel, ...]
    by: Judges
    goal: Goal

    @property
    def title(self) -> str:
        """The metric, with the judges if the run measures it with several."""
        return make_title(self.metric.spec, self.by[0] or self.by[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(side.name for side in self.sides)

    @property
    def headline(self) -> SettledMeasure:
        """The measure that is planned."""
        return self.scoring.measures[0]

    @property
    def shares_seeds(self) -> bool:
        """True if all of its images of one seed have something in common."""
        shared = all(side.run.manifest.request.noise == "shared" for side in self.sides)
        return shared and all(side.unshared_seeds is None for side in self.sides)

    @property
    def n_seeds(self) -> int:
        """Number of seeds of the first model."""
        side = self.sides[0]
        own = (r for r in side.run.results if (r.metric, r.label) == (self.metric.spec, side.label))
        return max(1, next(own).n_seeds)

    def find_prices(self) -> tuple[Prices, str]:
        """Return the prices that designs are compared by, and their unit."""
        if self.goal.prices is not None:
            return self.goal.prices, "cost"
        measured = measure_prices(self.sides, self.metric.spec)
        return (Prices(), "images") if measured is None else (measured, "seconds")

    def find_sizes(
        self, components: Components, score: BoundedScore | None, seeds: Sequence[int] = SEEDS
    ) -> tuple[tuple[SampleSize, ...], str]:
        """Return the smallest designs, and the unit of their costs."""
        prices, unit = self.find_prices()
        if len(self.sides) == 1:
            return find_sizes_of_width(components, self.goal.margin, score, seeds, prices), unit
        return find_sample_sizes(components, self.goal.margin, self.goal.power, seeds, prices), unit
