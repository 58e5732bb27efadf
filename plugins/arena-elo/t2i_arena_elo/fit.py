"""Bradley-Terry by maximum likelihood, for one set of battles or many at once.

The log-odds that the left model wins are theta_left - theta_right + gamma, where gamma, the order term, is the
advantage of being shown first. A tie is half a win for each model. The sufficient statistics are the number of
battles by pair and order, each model's wins, and the wins of the left models, so the fit works on small tables
however many battles there are.

References:
    Bradley and Terry: Rank analysis of incomplete block designs. 1952.
    Davidson and Beaver: On extending the Bradley-Terry model to incorporate within-pair order effects. 1977.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

Floats = NDArray[np.float64]

TOLERANCE = 1e-6
"""Newton's method stops after a step that moves no strength by more; the next step is about its square."""
LEAST = 1e-6
"""Smallest weight of a battle that counts; double precision cannot resolve strengths that depend on less."""
_STEPS = 200


@dataclass(frozen=True)
class BattleTally:
    """Sufficient statistics of battles. Leading axes, if any, are independent sets of battles.

    Attributes:
        fought: float (..., K, K), number of battles with model i on the left and j on the right.
        wins: float (..., K), wins of each model, ties counted half.
        first: float (...), wins of the models on the left, ties counted half.
    """

    fought: Floats
    wins: Floats
    first: Floats


@dataclass(frozen=True)
class Fit:
    """Fitted strengths on the log-odds scale.

    Attributes:
        theta: float (..., K), strengths with mean 0.
        gamma: float (...), the order term; 0 if it was not fitted.
    """

    theta: Floats
    gamma: Floats


@dataclass(frozen=True)
class DecidedBattles:
    """Decided battles as arrays.

    Attributes:
        models: Number of models K.
        left: int32 (n,), index of the model on the left.
        right: int32 (n,), index of the model on the right.
        score: float (n,), 1 if the left model won, 0 if the right one did, 0.5 if neither.
        weight: float (n,) of mean 1, inverse to the probability that the battle was drawn; None if all were drawn
            alike.
    """

    models: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    score: Floats
    weight: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Weight of each battle, float (n,)."""
        return np.ones(len(self.left)) if self.weight is None else self.weight

    def tally(self, weight: Floats | None = None) -> BattleTally:
        """Return the sufficient statistics. A battle counts by its weight, times `weight` if given, float (n,)."""
        weight = self.weights if weight is None else weight * self.weights
        models, gained = self.models, weight * self.score
        fought = np.bincount(self.left * models + self.right, weight, models * models).reshape(models, models)
        wins = np.bincount(self.left, gained, models) + np.bincount(self.right, weight - gained, models)
        return BattleTally(fought.astype(np.float64), wins.astype(np.float64), gained.sum())


def maximise(data: BattleTally, *, order: bool, prior: float = 0.0, start: Fit | None = None) -> Fit:
    """Return the strengths of maximum likelihood, by a damped Newton's method, for all sets at once.

    Args:
        data: Sufficient statistics of the battles.
        order: Whether to fit the order term.
        prior: Number of draws of each model added against an imaginary model of strength 0. With 0, all models
            must be in one strongly connected win graph (`groups`); otherwise there is no maximum.
        start: Starting point; if None, all strengths are 0.

    Raises:
        ArithmeticError: If the method does not converge, which should not happen if there is a maximum.
    """
    models = data.wins.shape[-1]
    theta = np.zeros_like(data.wins, dtype=np.float64) if start is None else start.theta + np.zeros_like(data.wins)
    gamma = np.zeros(theta.shape[:-1]) if start is None else start.gamma + np.zeros(theta.shape[:-1])
    fixed = np.zeros((models + 1, models + 1))
    fixed[:models, :models] = 0.0 if prior else 1.0 / models  # strengths are relative: their mean stays
    if not order:
        fixed[-1, -1] = 1.0
    # the term added to the Hessian is scaled to the Hessian's magnitude
    size = np.maximum(data.fought.sum(axis=(-2, -1)), 1e-300)[..., None, None]
    for _ in range(_STEPS):
        gradient, hessian = _slopes(data, theta, gamma, order, prior)
        step = np.linalg.solve(hessian + fixed * size, gradient[..., None])[..., 0]
        if not prior:  # otherwise rounding errors in the mean would add up from step to step
            step[..., :-1] -= step[..., :-1].mean(axis=-1, keepdims=True)
        longest = np.abs(step).max(axis=-1)
        # No battle's log-odds move by more than `reach`, so at a fraction s of the step the curvature is at most
        # e^(reach s) times its value here. A step shortened accordingly increases the likelihood (Sun and
        # Tran-Dinh 2019, for logistic models); full steps may oscillate forever.
        reach = 2 * np.abs(step[..., :-1]).max(axis=-1) + np.abs(step[..., -1])
        step *= (np.log1p(reach) / np.maximum(reach, 1e-300))[..., None]
        theta = theta + step[..., :-1]
        gamma = gamma + step[..., -1]
        if longest.max(initial=0.0) < TOLERANCE:
            return Fit(theta - theta.mean(axis=-1, keepdims=True), gamma)
    raise ArithmeticError(f"the fit did not converge in {_STEPS} steps")


def information(data: BattleTally, fit: Fit, *, order: bool, prior: float = 0.0) -> Floats:
    """Return the Hessian of the negative log-likelihood in theta and, where fitted, gamma: (..., K+1, K+1)."""
    return _slopes(data, fit.theta, fit.gamma, order, prior)[1]


def _slopes(data: BattleTally, theta: Floats, gamma: Floats, order: bool, prior: float) -> tuple[Floats, Floats]:
    """Return the gradient and the negative Hessian of the log-likelihood, gamma last (0 if it is not fitted)."""
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
    """Return the strongly connected groups of models.

    Within a group, strengths have a maximum likelihood estimate. Between groups it does not exist, because the
    ratio of two strengths may be arbitrarily large.

    Args:
        beat: bool (K, K), whether i has ever beaten or drawn with j.

    Returns:
        Indices of the models of each group; a group comes before the groups that it has beaten.

    References:
        Ford: Solution of a ranking problem from binary comparisons. 1957.
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
    """Return whether the order term has a maximum likelihood estimate, for one strongly connected group.

    It does not exist if some change of the strengths together with a larger (or smaller) term makes no verdict
    less likely. Each verdict bounds the difference of two strengths; all bounds can be met if and only if no cycle
    of them has a negative sum.

    Args:
        won: bool (K, K), whether model i on the left has ever beaten or drawn with model j on the right.
        lost: bool (K, K), whether model i on the left has ever lost to or drawn with model j on the right.
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
