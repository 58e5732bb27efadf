"""Looks at growing battles: which models are surely better than which, and whether that suffices to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import ndtri, stdtr
from t2i_core.statistics.sequential import find_boundaries

from .battles import Battles
from .clusters import design_of
from .fit import Floats
from .ratings import Ties, decided_battles, fit_ratings
from .resampling import find_freedom, find_influence, sandwich

Goal = Literal["best", "ranks"]
LEVEL = 0.95
"""Level of intervals; the looks together err with at most the rest."""
FEWEST = 10
"""Smallest number of prompts of a look that may end the battles."""


@dataclass(frozen=True)
class BattleLook:
    """Strengths by the battles so far.

    Attributes:
        theta: float (K,), strengths of mean 0.
        covariance: float (K, K), by the sandwich over prompts.
        freedom: float (K, K), degrees of freedom: of each strength on the diagonal, of each difference off it.
        clusters: Number of prompts.
        groups: The models; several groups if one of them never lost to another, or never met it. Then the
            likelihood has no maximum, and the strengths rest on added draws.
    """

    theta: Floats
    covariance: Floats
    freedom: Floats
    clusters: int
    groups: tuple[tuple[str, ...], ...]

    @property
    def exists(self) -> bool:
        """True if the strengths are the maximum of the likelihood, without added draws."""
        return len(self.groups) == 1

    def errors(self) -> Floats:
        """Return the standard error of each difference, float (K, K)."""
        own = np.diag(self.covariance)
        return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * self.covariance, 0.0))

    def scores(self) -> Floats:
        """Return the normal score of each difference, float (K, K): of the same p as Student's t."""
        gap, error = self.theta[:, None] - self.theta[None, :], self.errors()
        t = np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)
        tail: Floats = -ndtri(stdtr(self.freedom, -np.abs(t)))
        return np.sign(t) * tail


def look_at(battles: Battles, ties: Ties, order: bool) -> BattleLook | None:
    """Return the strengths by battles; None if a model has no decided battle, or all are of one prompt.

    Args:
        battles: The battles, of all models.
        ties: How ties count, as in `rate`.
        order: Whether to fit the advantage of being shown first.
    """
    data, which, present = decided_battles(battles, ties)
    if len(present) < len(battles.models):
        return None
    _, (clusters, *_), _ = design_of(battles, which, data)
    if clusters.count < 2:
        return None
    found = fit_ratings(data, battles.models, order)
    covariance = sandwich(data, clusters, found.fit, order=found.order, prior=found.prior)
    freedom = np.full(covariance[:-1, :-1].shape, clusters.count - 1.0)
    if data.weight is not None:
        influence = find_influence(data, found.fit, order=found.order, prior=found.prior)
        freedom = find_freedom(influence[:, :-1], clusters.codes)
    return BattleLook(found.fit.theta, covariance[:-1, :-1], freedom, clusters.count, found.groups)


@cache
def list_boundaries(looks: tuple[float, ...], tests: int = 1) -> tuple[float, ...]:
    """Return the boundary of each look at one of several differences.

    Args:
        looks: Share of the prompts up to each look, increasing.
        tests: Number of differences that share the error.
    """
    return find_boundaries(looks, (1 - LEVEL) / tests)


def count_tests(goal: Goal, models: int) -> int:
    """Return how many differences could make the goal's verdict wrong: with the best model, or of any two."""
    return models - 1 if goal == "best" else models * (models - 1) // 2


def list_gaps(goal: Goal, theta: Floats) -> list[tuple[int, int]]:
    """Return the differences that the goal needs, each with the better model first."""
    ranked = np.argsort(-theta, kind="stable").tolist()
    return [(ranked[0], other) for other in ranked[1:]] if goal == "best" else list(pairwise(ranked))


def widen(looks: Sequence[float]) -> float:
    """Return by what factor an interval is wider that holds at every look, if the last of these ended the battles.

    Such a repeated confidence interval uses the look's boundary in place of the normal quantile.

    References:
        Jennison and Turnbull: Repeated confidence intervals for group sequential trials. 1984.
    """
    return list_boundaries(tuple(looks))[-1] / float(ndtri(0.5 + LEVEL / 2))
