"""Probabilities with which pairs of models are drawn, so that their battles tell most about some differences."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from .fit import Floats

FLOOR = 0.1
"""Smallest probability of a pair, as a part of the mean."""
_LEAST = 1e-3
"""Smallest worth of a pair, as a part of the mean, so that any mean probability can be reached."""


def find_propensities(theta: Floats, share: float, contrasts: Floats) -> Floats:
    """Return the probability of each pair that makes the differences' variances smallest for as many battles.

    Battles weigh inversely to their probability p. So the variance of a difference c is the sum of q (c'Bx)^2 / p
    over pairs, where x is the pair's own difference, q the variance of its outcome and B the inverse information
    of all pairs. The sum over differences is smallest if p is proportional to the root of q times the sum of
    (c'Bx)^2 (Neyman's allocation).

    Args:
        theta: Strengths so far, (K,).
        share: Mean probability, in (0, 1].
        contrasts: The differences, (number, K), each scaled by the root of its importance.

    Returns:
        Probability of each pair in the order of `list_pairs`, between a tenth of `share` and 1, of mean `share`.

    References:
        Neyman: On the two different aspects of the representative method. 1934.
    """
    first, second = list_pairs(len(theta))
    odds = expit(theta[first] - theta[second])
    spread = odds * (1 - odds)
    own = np.eye(len(theta))[first] - np.eye(len(theta))[second]
    moves = own @ np.linalg.pinv((own.T * spread) @ own, hermitian=True) @ contrasts.T
    worth = np.sqrt(spread * (moves**2).sum(axis=1))
    if not worth.any():
        return np.full(len(first), share)
    worth = np.maximum(worth / worth.mean(), _LEAST)

    def allot(scale: float) -> Floats:
        found: Floats = np.clip(scale * worth, FLOOR * share, 1.0)
        return found

    least, most = 0.0, 1 / float(worth.min())
    scale = brentq(lambda each: float(allot(each).mean()) - share, least, most, xtol=1e-12)
    return allot(scale)


def list_pairs(models: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first and the second model of each pair, (K (K - 1) / 2,) each."""
    first, second = np.triu_indices(models, 1)
    return first, second
