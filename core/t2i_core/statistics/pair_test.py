"""Sequential tests of paired differences: what a look at a growing run shows, and whether the run may stop.

A look's estimate is the mean of its cells, with the library's two-way variance; its t-based p becomes a normal
score, which stops the run at the look's boundary. The information of a look is the inverse of the expected
variance, from variance components, never from the score. It gives the joint distribution of the looks. Each look
estimates the components anew, for itself and for the looks before it, so that the last look always has all of the
information.

The error is spent by the square of the run's progress: the share of the information without the effects of seeds,
which is the share of the prompts while only these grow. The last look spends all of the error that is left.

References:
    K. K. G. Lan and D. L. DeMets, Discrete sequential boundaries for clinical trials (1983).
    K. Kim and D. L. DeMets, Design and analysis of group sequential tests based on the type I error spending rate
        function, Biometrika 74 (1987).
    K. K. G. Lan and D. L. DeMets, Group sequential procedures: calendar versus information time, Statistics in
        Medicine 8 (1989): a scale of spending that is not the information.
    C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials (2000): chapter 7
    for the spending of the error, 8 for stage-wise ordering, 9 for repeated intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import scipy  # its `special` and `optimize` are imported when they are first used

from .comparison import make_comparison
from .design import Design, Floats
from .estimate import Estimate, Range
from .look_cells import (
    estimate_look_components,
    find_information,
    find_progress,
    is_unlimited,
    read_cells,
    widen_constant,
)
from .looks import Look
from .means import WeightedRows, estimate_mean
from .sequential import Spending, exceed_between, find_next_boundary, find_normal_score, solve_stage_wise

Decision = Literal["higher", "lower", "close"]
"""The first model of a pair is higher or lower than the second, or surely closer to it than the margin."""

SPENDING: Spending = "square"
"""Spending of the error by the tests of growing runs.

Boundaries as far out as O'Brien and Fleming's at early looks would be lost on t with few degrees of freedom.
"""


@dataclass(frozen=True)
class PairLook:
    """A paired difference at one look.

    Attributes:
        look: The look.
        diff: The difference, in the unit of the measure; NaN if the models have no cell in common.
        se: Its standard error; 0 if the differences do not vary.
        information: Share of the planned end's information, in [0, 1]; 0 without cells in common.
        statistic: The normal score that has the p-value of the difference.
        boundary: The pair is decided if the statistic reaches this on either side. With several pairs it is
            Holm's, and the interval Bonferroni's, so that the interval of a decided pair may hold 0.
        lo: Lower end of the repeated confidence interval; -inf if nothing limits it.
        hi: Upper end of the same interval; inf if nothing limits it.
        n: Number of cells that both models have.
        decision: The decision at the look; None while it is open.
    """

    look: Look
    diff: float
    se: float
    information: float
    statistic: float
    boundary: float
    lo: float
    hi: float
    n: int
    decision: Decision | None = None


@dataclass(frozen=True)
class StopEstimate:
    """A paired difference as it is reported when the run has stopped; NaN if the models have no cell in common.

    Attributes:
        diff: The median-unbiased estimate, in the unit of the measure.
        lo: Lower end of the stage-wise ordered interval.
        hi: Upper end of the same interval.
        p: The two-sided p-value of the same ordering, for this pair alone.
    """

    diff: float
    lo: float
    hi: float
    p: float


@dataclass(frozen=True)
class _Cells:
    """The cells of one look.

    Attributes:
        look: The look.
        sample: Their values.
        design: Their clusters.
        estimate: Their mean.
        statistic: The normal score of their mean.
        information: Information of the looks up to this one, over that of the planned end.
        progress: Share of the run, by which the error is spent.
    """

    look: Look
    sample: WeightedRows
    design: Design
    estimate: Estimate
    statistic: float
    information: tuple[float, ...]
    progress: float

    def find_score(self, deviation: float) -> float:
        """Return the normal score of a deviation of the mean from a hypothesis."""
        assert self.estimate.se
        assert self.estimate.df is not None
        return find_normal_score(deviation / self.estimate.se, self.estimate.df)

    def find_ends(self, boundary: float, diff: float) -> tuple[float, float]:
        """Return the ends between which the run went on, as normal scores of deviations from a difference.

        They are far out if the cells did not vary, because the run could not stop then.
        """
        if not self.estimate.se or self.estimate.df is None:
            return -math.inf, math.inf
        tail = max(float(scipy.special.ndtr(-boundary)), 1e-300)
        reach = -float(scipy.special.stdtrit(self.estimate.df, tail)) * self.estimate.se
        return self.find_score(-reach - diff), self.find_score(reach - diff)


@dataclass
class PairTest:
    """A sequential test of one paired difference, which takes one look after the other.

    Attributes:
        end: The planned end.
        crossed: True if prompts share their seeds.
        bounds: The range of the difference.
    """

    end: Look
    crossed: bool = True
    bounds: Range = (None, None)
    _cells: list[_Cells] = field(default_factory=list)
    _boundaries: dict[float, list[float]] = field(default_factory=dict)

    def add(self, look: Look, table: Floats) -> None:
        """Add a look.

        Args:
            look: The look.
            table: Differences of the two models, shape (prompts, seeds) of the look or larger; NaN where one of
                them has no value.

        Raises:
            ValueError: If the table is smaller than the look, or has no value.
        """
        looks = [*(each.look for each in self._cells), look]
        sample, design = read_cells(table, look, crossed=self.crossed)
        estimate = estimate_mean(sample, design, form="t", bounds=self.bounds, level=0.95)
        components = estimate_look_components(table[: look.prompts, : look.seeds], crossed=self.crossed)
        information = find_information(components, looks, self.end)
        progress = find_progress(components, look, self.end)
        statistic = 0.0 if is_unlimited(estimate, self.bounds) else _find_score(estimate, design)
        self._cells.append(_Cells(look, sample, design, estimate, statistic, information, progress))

    @property
    def looks(self) -> int:
        """Number of looks so far."""
        return len(self._cells)

    def find_boundaries(self, alpha: float) -> Sequence[float]:
        """Return the boundaries of the looks so far, in a test with this error."""
        found = self._boundaries.setdefault(alpha, [])
        for cells in self._cells[len(found) :]:
            found.append(_find_boundary(cells, found, alpha))
        return found

    def is_crossed(self, alpha: float) -> bool:
        """Return whether any look so far has reached its boundary, in a test with this error."""
        boundaries = self.find_boundaries(alpha)
        return any(abs(cells.statistic) >= end for cells, end in zip(self._cells, boundaries, strict=True))

    def read_look(self, alpha: float) -> PairLook:
        """Return what the last look shows, without its decision, in a test with this error."""
        cells, boundary = self._cells[-1], self.find_boundaries(alpha)[-1]
        level = 1 - 2 * float(scipy.special.ndtr(-boundary))
        repeated = estimate_mean(cells.sample, cells.design, form="t", bounds=self.bounds, level=min(level, _SURE))
        repeated = widen_constant(repeated, self.bounds)
        return PairLook(
            cells.look,
            cells.estimate.value,
            cells.estimate.se or 0.0,
            cells.information[-1],
            cells.statistic,
            boundary,
            repeated.lo,
            repeated.hi,
            len(cells.sample.value),
        )

    def find_repeated_p(self) -> float:
        """Return the smallest error at which a look so far would have reached its boundary."""

        def reach(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            boundaries: list[float] = []
            for cells in self._cells:
                boundaries.append(_find_boundary(cells, boundaries, alpha))
            return max(abs(c.statistic) - end for c, end in zip(self._cells, boundaries, strict=True))

        ends = math.log(1e-12), 0.0
        if reach(ends[0]) >= 0:
            return 1e-12
        if reach(ends[1]) < 0:
            return 1.0
        return math.exp(float(scipy.optimize.brentq(reach, *ends, xtol=1e-4)))

    def estimate(self, alpha: float) -> StopEstimate:
        """Return the estimate and interval that are reported if the run stops now, in a test with this error."""
        if not self._cells:
            return StopEstimate(math.nan, math.nan, math.nan, math.nan)
        cells = self._cells[-1]
        se, value = cells.estimate.se, cells.estimate.value
        if is_unlimited(cells.estimate, self.bounds):
            return StopEstimate(value, -math.inf, math.inf, 1.0)
        if not se or cells.estimate.df is None:
            estimate = estimate_mean(cells.sample, cells.design, form="t", bounds=self.bounds, level=1 - alpha)
            return StopEstimate(value, estimate.lo, estimate.hi, make_comparison(estimate, cells.design, 0).p)
        found = solve_stage_wise(partial(self._exceed, alpha), value, se, 1 - alpha, tolerance=1e-5)
        low, high = self.bounds
        diff, lo, hi = np.clip(
            [found.median, found.lo, found.hi],
            -math.inf if low is None else low,
            math.inf if high is None else high,
        )
        return StopEstimate(float(diff), float(lo), float(hi), found.p)

    def covers(self, diff: float, alpha: float) -> bool:
        """Return whether the interval of `estimate` holds a difference; much quicker, for simulations."""
        if not self._cells or not self._cells[-1].estimate.se or self._cells[-1].estimate.df is None:
            estimate = self.estimate(alpha)
            return estimate.lo <= diff <= estimate.hi
        return alpha / 2 <= self._exceed(alpha, diff) <= 1 - alpha / 2

    def _exceed(self, alpha: float, diff: float) -> float:
        """Return the probability of an outcome at least as high in stage-wise order, under a difference."""
        last, value = self._cells[-1], self._cells[-1].estimate.value
        boundaries = self.find_boundaries(alpha)
        ends = [each.find_ends(end, diff) for each, end in zip(self._cells[:-1], boundaries, strict=False)]
        return exceed_between(last.information, ends, last.find_score(value - diff), value >= 0)


_SURE = 1 - 1e-15
"""The highest level of an interval."""


def _find_boundary(cells: _Cells, before: Sequence[float], alpha: float) -> float:
    """Return the boundary of a look, given those of the looks before it."""
    return find_next_boundary(cells.information, before, alpha, SPENDING, cells.progress)


def _find_score(estimate: Estimate, design: Design) -> float:
    """Return the normal score of an estimated difference; 0 if no test is possible."""
    if estimate.se and estimate.df is not None:
        return find_normal_score(estimate.value / estimate.se, estimate.df)
    p = make_comparison(estimate, design, 0).p
    return 0.0 if math.isnan(p) else math.copysign(-float(scipy.special.ndtri(p / 2)), estimate.value)
