"""Information gain of another battle, by pair of models, for sampling the pairs that a judge is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from scipy.special import expit

from .battles import Battles
from .fit import information
from .ratings import decided_battles, fit_ratings


def gains(battles: Battles) -> Mapping[frozenset[str], float]:
    """Return the relative information gain of one more battle between each two models; the mean is 1.

    The gain is the decrease of the sum of the ratings' variances (A-optimal design): q |C x|^2 / (1 + q x'C x),
    where C is the covariance from the likelihood, x the contrast of the two models, and q = p (1 - p).

    Args:
        battles: Earlier battles. Models without a decided battle are left out.

    Returns:
        Gain by pair of models; empty if fewer than two models took part.
    """
    data, _, present = decided_battles(battles, "half")
    models = [battles.models[i] for i in present]
    if len(models) < 2:
        return {}
    model_fit = fit_ratings(data, tuple(models), order=False)
    hessian = information(data.tally(), model_fit.fit, order=False, prior=model_fit.prior)[:-1, :-1]
    covariance = np.linalg.pinv(hessian, hermitian=True)
    theta = model_fit.fit.theta
    found = {}
    for i, j in combinations(range(len(models)), 2):
        column = covariance[:, i] - covariance[:, j]
        odds = float(expit(theta[i] - theta[j]))
        variance = odds * (1 - odds)
        gain = variance * float(column @ column) / (1 + variance * float(column[i] - column[j]))
        found[frozenset((models[i], models[j]))] = gain
    mean = float(np.mean(list(found.values())))
    return {pair: gain / mean for pair, gain in found.items()}
