"""Which pairs of models to ask about: those of which another battle tells most."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from scipy.special import expit

from .battles import Battles
from .fit import information
from .ratings import fought, settle


def gains(battles: Battles) -> Mapping[frozenset[str], float]:
    """Return, for each two models that have fought, how much one more battle of theirs would tell, 1 on average.

    That is by how much the sum of the ratings' variances would fall (A-optimal design): with C the covariance that
    the likelihood gives, x the difference of the two and q = p (1 - p), q |C x|^2 / (1 + q x'C x).
    """
    data, _, present = fought(battles, "half")
    models = [battles.models[i] for i in present]
    if len(models) < 2:
        return {}
    settled = settle(data, tuple(models), order=False)
    known = information(data.tally(), settled.fit, order=False, prior=settled.prior)[:-1, :-1]
    covariance = np.linalg.pinv(known, hermitian=True)
    theta = settled.fit.theta
    found = {}
    for i, j in combinations(range(len(models)), 2):
        column = covariance[:, i] - covariance[:, j]
        odds = float(expit(theta[i] - theta[j]))
        doubt = odds * (1 - odds)
        told = doubt * float(column @ column) / (1 + doubt * float(column[i] - column[j]))
        found[frozenset((models[i], models[j]))] = told
    mean = float(np.mean(list(found.values())))
    return {pair: told / mean for pair, told in found.items()}
