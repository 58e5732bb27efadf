"""Bradley-Terry by maximum likelihood, for one set of battles or many at once.

The log-odds that the left model wins are theta_left - theta_right + gamma, where gamma, the order term, is what it
is worth to be shown first. A tie is half a win for each. All that the fit needs of battles are their numbers by
pair and order, each model's wins, and the left ones' wins (sufficient statistics), so it works on small tables
however many battles there were. Sources: Bradley and Terry 1952; the order term: Davidson and Beaver 1977.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Newton ends after a step that moves no strength by more: the next would be about its square."""
LEAST = 1e-6
"""A battle of less weight is as good as none: strengths that rest on it alone cannot be had in doubles."""
_STEPS = 200


@dataclass(frozen=True)
class BattleTally:
    """What the fit needs of battles; leading axes, where there are any, are independent sets.

    fought: float (..., K, K), battles with model i on the left and j on the right
    wins:   float (..., K), each model's wins, ties half
    first:  float (...), wins of whoever was on the left, ties half
    """

    fought: Floats
    wins: Floats
    first: Floats


@dataclass(frozen=True)
class Fit:
    """Strengths on the log-odds scale.

    theta: float (..., K), mean 0
    gamma: float (...), 0 where it was not fitted
    """

    theta: Floats
    gamma: Floats


@dataclass(frozen=True)
class Fought:
    """Decided battles as numbers: codes of the models, and 1 where the left one won, 0 the right, .5 neither."""

    models: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    score: Floats

    def tally(self, weight: Floats | None = None) -> BattleTally:
        """Sum up what the fit needs; each battle counts `weight` times, once by default."""
        weight = np.ones(len(self.left)) if weight is None else weight
        models, gained = self.models, weight * self.score
        fought = np.bincount(self.left * models + self.right, weight, models * models).reshape(models, models)
        wins = np.bincount(self.left, gained, models) + np.bincount(self.right, weight - gained, models)
        return BattleTally(fought, wins, gained.sum())


def maximise(data: BattleTally, *, order: bool, prior: float = 0.0, start: Fit | None = None) -> Fit:
    """Find the strengths of greatest likelihood by Newton's method, damped, for all sets at once.

    order:  fit the order term
    prior:  so many draws of each model against an imagined one of strength 0; without it, every model must be in
            one strongly connected win graph (`groups`), or there is no maximum

    Raises ArithmeticError where it does not converge, which no such data should do.
    """
    models = data.wins.shape[-1]
    theta = np.zeros_like(data.wins, dtype=np.float64) if start is None else start.theta + np.zeros_like(data.wins)
    gamma = np.zeros(theta.shape[:-1]) if start is None else start.gamma + np.zeros(theta.shape[:-1])
    fixed = np.zeros((models + 1, models + 1))
    fixed[:models, :models] = 0.0 if prior else 1.0 / models  # strengths are relative: their mean stays
    if not order:
        fixed[-1, -1] = 1.0
    # what is added to a Hessian must be of its size
    size = np.maximum(data.fought.sum(axis=(-2, -1)), 1e-300)[..., None, None]
    for _ in range(_STEPS):
        gradient, hessian = _slopes(data, theta, gamma, order, prior)
        step = np.linalg.solve(hessian + fixed * size, gradient[..., None])[..., 0]
        if not prior:  # what rounding has put into their mean would be added anew with each step
            step[..., :-1] -= step[..., :-1].mean(axis=-1, keepdims=True)
        longest = np.abs(step).max(axis=-1)
        # no battle's log-odds move by more than `reach`, so along the step the curvature is at most e^(reach s)
        # times what it was, and so far the likelihood grows all the way (Sun and Tran-Dinh 2019, for the
        # logistic); whole steps may jump to and fro for ever
        reach = 2 * np.abs(step[..., :-1]).max(axis=-1) + np.abs(step[..., -1])
        step *= (np.log1p(reach) / np.maximum(reach, 1e-300))[..., None]
        theta = theta + step[..., :-1]
        gamma = gamma + step[..., -1]
        if longest.max(initial=0.0) < TOLERANCE:
            return Fit(theta - theta.mean(axis=-1, keepdims=True), gamma)
    raise ArithmeticError(f"the strengths still moved after {_STEPS} steps")


def information(data: BattleTally, fit: Fit, *, order: bool, prior: float = 0.0) -> Floats:
    """Return the Hessian of the negative log-likelihood in theta and, where fitted, gamma: (..., K+1, K+1)."""
    return _slopes(data, fit.theta, fit.gamma, order, prior)[1]


def _slopes(data: BattleTally, theta: Floats, gamma: Floats, order: bool, prior: float) -> tuple[Floats, Floats]:
    """Gradient and negative Hessian of the log-likelihood, gamma last (0 where it is not fitted)."""
    models = theta.shape[-1]
    odds = expit(theta[..., :, None] - theta[..., None, :] + gamma[..., None, None])
    expected = data.fought * odds
    spread = expected * (1 - odds)
    gradient = np.empty((*theta.shape[:-1], models + 1))
    right = data.fought.sum(axis=-2) - expected.sum(axis=-2)
    gradient[..., :-1] = data.wins - expected.sum(axis=-1) - right
    gradient[..., -1] = (data.first - expected.sum(axis=(-2, -1))) if order else 0.0
    hessian = np.zeros((*theta.shape[:-1], models + 1, models + 1))
    by_left, by_right = spread.sum(axis=-1), spread.sum(axis=-2)
    diagonal = np.arange(models)
    hessian[..., :-1, :-1] = -(spread + np.swapaxes(spread, -2, -1))
    hessian[..., diagonal, diagonal] += by_left + by_right
    if order:
        hessian[..., :-1, -1] = hessian[..., -1, :-1] = by_left - by_right
        hessian[..., -1, -1] = by_left.sum(axis=-1)
    if prior:
        drawn = expit(theta)
        gradient[..., :-1] += prior * (0.5 - drawn)
        hessian[..., diagonal, diagonal] += prior * drawn * (1 - drawn)
    return gradient, hessian


def groups(beat: NDArray[np.bool_]) -> list[list[int]]:
    """Return the strongly connected groups of models, the strongest first where that can be said.

    beat: bool (K, K), whether i has ever beaten or drawn with j. Within a group strengths have a greatest
    likelihood, between groups there is none: the ratio of two may be as large as one likes (Ford 1957).
    """
    number, label = connected_components(beat, directed=True, connection="strong")
    members = [np.flatnonzero(label == each).tolist() for each in range(number)]
    above = np.zeros((number, number), bool)
    winner, loser = np.nonzero(beat)
    above[label[winner], label[loser]] = True
    np.fill_diagonal(above, False)
    ordered: list[list[int]] = []
    left = set(range(number))
    while left:
        top = next(each for each in sorted(left) if not any(above[other, each] for other in left))
        left.remove(top)
        ordered.append(members[top])
    return ordered


def has_order_term(won: NDArray[np.bool_], lost: NDArray[np.bool_]) -> bool:
    """Whether the order term has a greatest likelihood, in battles of one strongly connected group.

    won, lost: bool (K, K), whether the left model i has ever beaten (lost to) the right model j; a tie is both.

    It has none where strengths can be found under which, with a larger (or smaller) term, no verdict becomes less
    likely: each verdict bounds a difference of two strengths, and such bounds can be kept exactly where no cycle
    of them has a negative sum.
    """
    return all(_has_negative_cycle(won, lost, sign) for sign in (1.0, -1.0))


def _has_negative_cycle(won: NDArray[np.bool_], lost: NDArray[np.bool_], gamma: float) -> bool:
    # left won: theta_right <= theta_left + gamma; left lost: theta_left <= theta_right - gamma
    bound = np.minimum(np.where(won, gamma, np.inf), np.where(lost, -gamma, np.inf).T)
    distance = np.zeros(len(bound))
    for _ in range(len(bound)):
        shorter = np.minimum(distance, (distance[:, None] + bound).min(axis=0))
        if (shorter == distance).all():
            return False
        distance = shorter
    return True
