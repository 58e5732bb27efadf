"""Group-sequential tests: boundaries at which a growing run may stop, and the estimate at the stop.

Looks at a growing run have independent increments on the scale of information (1 / variance), so each look's test
statistic has a normal density that is carried from look to look by numerical integration. Statistics are two-sided
and symmetric. `drift` is the mean of the test statistic at full information, 0 if there is no difference.

References:
    P. Armitage, C. K. McPherson and B. C. Rowe, Repeated significance tests on accumulating data (1969).
    K. K. G. Lan and D. L. DeMets, Discrete sequential boundaries for clinical trials (1983).
    K. Kim and D. L. DeMets, Design and analysis of group sequential tests based on the type I error spending rate
        function, Biometrika 74 (1987).
    C. Jennison and B. W. Turnbull, Group Sequential Methods with Applications to Clinical Trials (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import scipy  # its `special` and `optimize` are imported when they are first used

from .design import Floats

Spending = Literal["obf", "square", "pocock"]
"""Spending of the error over the looks: little at first (as O'Brien and Fleming), by the square of the information
(Kim and DeMets), or about evenly (as Pocock)."""

Shape = Literal["obf", "pocock"]
"""Shape of boundaries: falling with the root of the information (O'Brien and Fleming), or constant (Pocock)."""

NEVER = 12.0
"""A boundary that no statistic reaches."""

_EMPTY = 8.0
"""A statistic beyond which the density without drift is negligible."""

_FARTHEST = 1e6
"""Distance, in standard errors, at which the search for an end of an interval gives up."""

_NODES = (64, 128, 256, 1024)
"""Numbers of nodes of the quadrature; six for each standard deviation of a step are exact to rounding."""


def spend(fraction: float, alpha: float, spending: Spending = "obf") -> float:
    """Return the error that is spent up to a fraction of the information, over both tails.

    Args:
        fraction: Information so far over that of the planned end, in (0, 1].
        alpha: The error of the whole test.
        spending: The function.
    """
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * fraction)
    if spending == "square":
        return alpha * fraction**2
    tail = -float(scipy.special.ndtri(alpha / 4))
    return 4 * float(scipy.special.ndtr(-tail / math.sqrt(fraction)))


@dataclass(frozen=True)
class _Density:
    """The density of the score (statistic times root of information) of the runs that have not stopped.

    It is kept for a drift of 0. A drift multiplies it by exp(drift score - drift^2 information / 2), so that one
    walk over the looks serves every drift.

    Attributes:
        score: Nodes of the quadrature, shape (n,).
        mass: Density times weight at each node, shape (n,).
        information: Information of this look.
    """

    score: Floats
    mass: Floats
    information: float

    def exceed(self, statistic: float, information: float, drift: float) -> float:
        """Return the probability of reaching a later look with a statistic of at least this."""
        return self._sum(statistic, information, drift, -1.0)

    def fall_below(self, statistic: float, information: float, drift: float) -> float:
        """Return the probability of reaching a later look with a statistic of at most this."""
        return self._sum(statistic, information, drift, 1.0)

    def _sum(self, statistic: float, information: float, drift: float, sign: float) -> float:
        step = information - self.information
        ends = (statistic * math.sqrt(information) - self.score - drift * step) / math.sqrt(step)
        mass = self.mass * np.exp(drift * self.score - drift**2 * self.information / 2) if drift else self.mass
        return float((mass * scipy.special.ndtr(sign * ends)).sum())

    def advance(self, lower: float, upper: float, information: float) -> _Density:
        """Return the density at a later look, between its boundaries."""
        step = information - self.information
        spread, root = math.sqrt(step), math.sqrt(information)
        half = (upper - lower) * root / 2
        nodes, weights = _find_nodes(next((n for n in _NODES if n >= 6 * half / spread), _NODES[-1]))
        score = nodes * half + (upper + lower) * root / 2
        distance = (score[:, None] - self.score[None, :]) / spread
        density = np.exp(-0.5 * distance**2) @ self.mass / (spread * math.sqrt(2 * math.pi))
        return _Density(score, density * weights * half, information)


@cache
def _find_nodes(count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


_START = _Density(np.zeros(1), np.ones(1), 0.0)


def find_boundaries(
    information: Sequence[float], alpha: float = 0.05, spending: Spending = "obf"
) -> tuple[float, ...]:
    """Return the boundary of each look: the test stops if the statistic reaches it on either side.

    Args:
        information: Information of each look over that of the planned end, increasing, the last one 1 (or less, if
            looks are still to come).
        alpha: The two-sided error of the whole test.
        spending: How it is spent.

    Raises:
        ValueError: If the fractions do not increase within (0, 1].
    """
    _check_information(information)

    found: list[float] = []
    for number in range(len(information)):
        found.append(find_next_boundary(information[: number + 1], found, alpha, spending))
    return tuple(found)


def find_next_boundary(
    information: Sequence[float],
    boundaries: Sequence[float],
    alpha: float = 0.05,
    spending: Spending = "obf",
    progress: float | None = None,
) -> float:
    """Return the boundary of a look, which spends what the looks before it have left.

    Args:
        information: Information of the looks so far and of this one, as it is now known.
        boundaries: Boundaries that the looks before this one had, whatever was then known of the information.
        alpha: The two-sided error of the whole test.
        spending: How it is spent.
        progress: Share of the run by which it is spent, in (0, 1]; if None, the information of this look.

    Returns:
        The boundary; 12, which no statistic reaches, if nothing is left.
    """
    *before, (density, fraction, _) = _walk(information, (*boundaries, NEVER))
    spent = spend(min(fraction if progress is None else progress, 1.0), alpha, spending)
    left = spent - sum(2 * d.exceed(b, t, 0) for d, t, b in before)
    if 2 * density.exceed(NEVER, fraction, 0) >= left:
        return NEVER
    return _solve(lambda end: 2 * density.exceed(end, fraction, 0) - left, 0.0, NEVER)


def find_constant(looks: int | Sequence[float], alpha: float = 0.05, shape: Shape = "obf") -> float:
    """Return the constant c of a test whose boundaries have a fixed shape.

    It stops at a look with the fraction t of the information if |Z| >= c (pocock), or |Z| >= c / sqrt(t) (obf).

    Args:
        looks: Number of equally spaced looks, or the information of each look, as in `find_boundaries`.
        alpha: The two-sided error of the whole test.
        shape: The shape.
    """
    information = [(k + 1) / looks for k in range(looks)] if isinstance(looks, int) else looks
    _check_information(information)

    def error(constant: float) -> float:
        each = [constant if shape == "pocock" else constant / math.sqrt(fraction) for fraction in information]
        return sum(stop_probabilities(information, each)) - alpha

    return _solve(error, 0.0, NEVER)


def stop_probabilities(
    information: Sequence[float], boundaries: Sequence[float], drift: float = 0.0
) -> tuple[float, ...]:
    """Return the probability of crossing a boundary first at each look.

    Args:
        information: Information of each look.
        boundaries: The boundaries.
        drift: Mean of the statistic at full information.
    """
    return tuple(
        density.exceed(boundary, fraction, drift) + density.fall_below(-boundary, fraction, drift)
        for density, fraction, boundary in _walk(information, boundaries)
    )


def exceedance(information: Sequence[float], boundaries: Sequence[float], statistic: float, drift: float) -> float:
    """Return the probability of an outcome at least as high as the one observed, in stage-wise order.

    A crossing of the upper boundary is higher the earlier it comes, one of the lower boundary the later.

    Args:
        information: Information of the looks up to the stop.
        boundaries: Boundaries of the looks before the stop; that of the last look is not read.
        statistic: The statistic at the stop.
        drift: Mean of the statistic at full information.
    """
    return _exceed_in_order(list(_walk_to_stop(information, boundaries)), statistic, drift)


def _exceed_in_order(walk: Sequence[_Step], statistic: float, drift: float) -> float:
    *before, (density, fraction, _) = walk
    if statistic >= 0:
        return sum(d.exceed(b, t, drift) for d, t, b in before) + density.exceed(statistic, fraction, drift)
    lower = sum(d.fall_below(-b, t, drift) for d, t, b in before) + density.fall_below(statistic, fraction, drift)
    return 1 - lower


@dataclass(frozen=True)
class StageWise:
    """Estimate at the stop of a sequential test, on the scale of the drift.

    Attributes:
        median: The median-unbiased estimate.
        lo: Lower end of the interval.
        hi: Upper end of the interval.
        p: The two-sided p-value.
    """

    median: float
    lo: float
    hi: float
    p: float


def estimate_at_stop(
    information: Sequence[float],
    boundaries: Sequence[float],
    statistic: float,
    level: float = 0.95,
) -> StageWise:
    """Return the stage-wise ordered estimate and interval of a test that has stopped.

    Divide by the root of the full information for the scale of the difference.

    Args:
        information: Information of the looks up to the stop.
        boundaries: Boundaries of these looks.
        statistic: The statistic at the stop.
        level: The confidence level.
    """
    _check_information(information)
    walk = list(_walk_to_stop(information, boundaries))
    root = math.sqrt(information[-1])
    return solve_stage_wise(
        lambda drift: _exceed_in_order(walk, statistic, drift), statistic / root, 1 / root, level
    )


def solve_stage_wise(
    exceed: Callable[[float], float], estimate: float, se: float, level: float, tolerance: float = 1e-9
) -> StageWise:
    """Return the parameters under which an outcome is at the middle and at both ends of the stage-wise order.

    Args:
        exceed: Probability of an outcome at least as high as the one observed, as a function of the parameter.
        estimate: The parameter's plain estimate, where the search begins.
        se: Its standard error.
        level: The confidence level.
        tolerance: Accuracy, in standard errors.
    """

    def find(wanted: float) -> float:
        reach = 4.0
        while True:
            ends = estimate - reach * se, estimate + reach * se
            if (exceed(ends[0]) < wanted < exceed(ends[1])) or reach > _FARTHEST:
                return _solve(lambda each: exceed(each) - wanted, *ends, tolerance=tolerance * se)
            reach *= 2

    above = exceed(0)
    outside = (1 - level) / 2
    return StageWise(find(0.5), find(outside), find(1 - outside), min(1.0, 2 * min(above, 1 - above)))


def exceed_between(
    information: Sequence[float], ends: Sequence[tuple[float, float]], statistic: float, is_above: bool
) -> float:
    """Return the probability of an outcome at least as high in stage-wise order, without drift.

    As `exceedance`, with boundaries that need not be symmetric: those of a test of another hypothesis.

    Args:
        information: Information of the looks up to the stop.
        ends: Lower and upper boundary of each look before the stop.
        statistic: The statistic at the stop.
        is_above: Whether the stop is on the upper side.
    """
    density, passed = _START, 0.0
    for (lower, upper), fraction in zip(ends, information[:-1], strict=True):
        passed += density.exceed(upper, fraction, 0) if is_above else density.fall_below(lower, fraction, 0)
        lower, upper = np.clip((lower, upper), -_EMPTY, _EMPTY)
        density = density.advance(lower, max(upper, lower + 1e-9), fraction)
    if is_above:
        return passed + density.exceed(statistic, information[-1], 0)
    return 1 - passed - density.fall_below(statistic, information[-1], 0)


def find_normal_score(t: float, df: float) -> float:
    """Return the normal score with the p-value of Student's t."""
    if math.isinf(df):
        return t
    tail = max(float(scipy.special.stdtr(df, -abs(t))), 1e-300)
    return math.copysign(-float(scipy.special.ndtri(tail)), t)


_Step = tuple[_Density, float, float]
"""Density of the runs that reach a look, its information and its boundary."""


def _walk(information: Sequence[float], boundaries: Sequence[float]) -> Iterator[_Step]:
    """Yield for each look the density of the runs that reach it, its information and its boundary."""
    density = _START
    for number, (fraction, boundary) in enumerate(zip(information, boundaries, strict=True)):
        yield density, fraction, boundary
        if number + 1 < len(information):
            density = density.advance(-boundary, boundary, fraction)


def _walk_to_stop(information: Sequence[float], boundaries: Sequence[float]) -> Iterator[_Step]:
    """Yield the looks up to a stop. The boundary of the last one has no part in it."""
    return _walk(information, (*boundaries[: len(information) - 1], NEVER))


def _check_information(information: Sequence[float]) -> None:
    before = (0.0, *information[:-1])
    if not information or not all(0 <= a < b <= 1 + 1e-12 for a, b in zip(before, information, strict=True)):
        raise ValueError(f"information must increase within (0, 1], got {list(information)}")


def _solve(function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-9) -> float:
    """Return the root of a monotone function; the nearer end if it has none in between."""
    ends = function(low), function(high)
    if ends[0] * ends[1] > 0:
        return low if abs(ends[0]) < abs(ends[1]) else high
    return float(scipy.optimize.brentq(function, low, high, xtol=tolerance))
