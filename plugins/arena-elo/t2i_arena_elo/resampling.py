"""Covariances of fitted strengths over prompts and annotators, by bootstrap and by the sandwich estimator.

Each function returns the covariance of theta and gamma for one clustering of the battles. Battles of one prompt,
in both orders and by all judges, are never treated as independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from .clusters import BattleClusters
from .fit import BattleTally, DecidedBattles, Fit, Floats, information, maximise

_TOGETHER = 64
"""Number of bootstrap rounds that are fitted at once; their tables fit into the processor's cache."""
_NUMBERS = 4_000_000
"""Approximate number of values held in memory at a time, which limits memory use."""
_MOST_LEVERAGE = 0.9
"""Largest leverage of a battle that is taken into account; at 1 the fit follows the battle entirely."""
_LIGHTEST = 1e-3
"""Smallest weight of a cluster, so that no cluster that the fit depends on is practically dropped."""


def bootstrap(
    data: DecidedBattles,
    clusters: BattleClusters,
    fit: Fit,
    *,
    order: bool,
    prior: float,
    rounds: int,
    rng_seed: int,
) -> Floats:
    """Return the covariance of the strengths by a Bayesian bootstrap of clusters.

    Weights are exponential, so no cluster is dropped completely and a maximum exists in every round. With G
    clusters the variance of a mean is then (G - 1) / (G + 1) of the unbiased one; the result corrects for this.

    Args:
        data: The battles.
        clusters: Clusters of the battles; battles that are not resampled keep weight 1.
        fit: The fit to all battles, the starting point of each round.
        order: Whether the order term is fitted.
        prior: Number of added draws, as in `maximise`.
        rounds: Number of bootstrap rounds.
        rng_seed: Seed of the weights.

    Returns:
        float (K+1, K+1), gamma last.

    References:
        Rubin: The Bayesian Bootstrap. 1981.
    """
    rng = np.random.default_rng(rng_seed)
    part = np.flatnonzero(clusters.codes >= 0)
    fixed = data.tally((clusters.codes < 0).astype(np.float64))
    fought, gained = _tables(data, clusters, part)
    per_pass = max(1, min(rounds, _NUMBERS // data.models**2))
    drawn = [
        _strengths(_weighted_tally(rng, clusters.times, fought, gained, n, fixed), fit, order, prior)
        for n in [per_pass] * (rounds // per_pass) + [rounds % per_pass] * (rounds % per_pass > 0)
    ]
    count = clusters.count
    return np.cov(np.concatenate(drawn), rowvar=False) * (count + 1) / (count - 1)


def _tables(
    data: DecidedBattles, clusters: BattleClusters, part: NDArray[np.intp]
) -> tuple[sparse.csc_array, sparse.csc_array]:
    """Return each cluster's battles by pair, (K * K, clusters), and its wins, (K + 1, clusters)."""
    left, right, score, codes = data.left[part], data.right[part], data.score[part], clusters.codes[part]
    share, models = (clusters.shares * data.weights)[part], data.models
    fought = sparse.csc_array(
        (share.astype(np.float32), (left * models + right, codes)), shape=(models**2, len(clusters.times))
    )
    gained = share * score
    rows = np.concatenate([left, right, np.full(len(part), models)])
    values = np.concatenate([gained, share - gained, gained]).astype(np.float32)
    columns = np.concatenate([codes] * 3)
    return fought, sparse.csc_array((values, (rows, columns)), shape=(models + 1, len(clusters.times)))


def _weighted_tally(
    rng: np.random.Generator,
    times: Floats,
    fought: sparse.csc_array,
    gained: sparse.csc_array,
    rounds: int,
    fixed: BattleTally,
) -> BattleTally:
    """Return the battles summed under the weights of each round."""
    models = fixed.wins.size
    pairs, wins = np.zeros((models**2, rounds), np.float32), np.zeros((models + 1, rounds), np.float32)
    alone = bool((times == 1).all())
    chunk = max(1, _NUMBERS // rounds)
    for begin in range(0, len(times), chunk):
        some = slice(begin, begin + chunk)
        size = (len(times[some]), rounds)
        if alone:
            weight = rng.standard_exponential(size, dtype=np.float32)
        else:  # the sum of `times` exponential weights
            weight = rng.standard_gamma(times[some, None], size).astype(np.float32)
        np.maximum(weight, _LIGHTEST, out=weight)
        pairs += fought[:, some] @ weight
        wins += gained[:, some] @ weight
    return BattleTally(
        np.ascontiguousarray(pairs.T).reshape(rounds, models, models) + fixed.fought,
        wins[:models].T + fixed.wins,
        wins[models] + fixed.first,
    )


def _strengths(data: BattleTally, start: Fit, order: bool, prior: float) -> Floats:
    """Return the strengths fitted in each round, (rounds, K+1), gamma last."""
    found = []
    for begin in range(0, len(data.wins), _TOGETHER):
        some = slice(begin, begin + _TOGETHER)
        sets = BattleTally(data.fought[some], data.wins[some], data.first[some])
        fit = maximise(sets, order=order, prior=prior, start=start)
        found.append(np.concatenate([fit.theta, fit.gamma[:, None]], axis=1))
    return np.concatenate(found)


def sandwich(data: DecidedBattles, clusters: BattleClusters, fit: Fit, *, order: bool, prior: float) -> Floats:
    """Return the covariance of the strengths, robust to dependence within clusters.

    The estimate is the inverse information on both sides of the sum of the outer products of the clusters' scores.
    It also holds for battles that earlier battles chose, if each cluster's draws depend on earlier clusters alone
    and weights are inverse to the probabilities: the scores are then increments of a martingale.

    Returns:
        float (K+1, K+1), gamma last.

    References:
        Liang and Zeger: Longitudinal data analysis using generalized linear models. 1986.
        Hall and Heyde: Martingale Limit Theory and Its Application. 1980, section 3.2.
    """
    models, bread = data.models, _find_bread(data, fit, order, prior)
    residual = _find_residual(data, fit, bread, order)
    part = np.flatnonzero(clusters.codes >= 0)
    codes, residual = clusters.codes[part], residual[part] * clusters.shares[part]
    rows = np.concatenate([data.left[part], data.right[part], np.full(len(part), models)])
    values = np.concatenate([residual, -residual, residual if order else np.zeros(len(part))])
    columns = np.concatenate([codes] * 3)
    scores = sparse.csr_array((values, (rows, columns)), shape=(models + 1, len(clusters.times)))
    meat: Floats = (scores @ sparse.diags_array(clusters.times) @ scores.T).toarray()
    count = clusters.count
    return bread @ meat @ bread.T * count / (count - 1)


def find_influence(data: DecidedBattles, fit: Fit, *, order: bool, prior: float) -> Floats:
    """Return by how much each battle moves the strengths: its score times the inverse information.

    The sum over clusters of the outer products of these moves is `sandwich`.

    Returns:
        float (n, K+1), gamma last.
    """
    bread = _find_bread(data, fit, order, prior)
    return (_find_contrasts(data, bread, order) * _find_residual(data, fit, bread, order)).T


def find_freedom(influence: Floats, codes: NDArray[np.intp]) -> Floats:
    """Return the degrees of freedom of the strengths' variances and of those of their differences.

    Few prompts may carry a variance, because their battles are of rare pairs and weigh much. The effective number
    of prompts is (sum of squared moves)^2 / sum of their fourth powers.

    Args:
        influence: By how much each battle moves the strengths, float (n, K).
        codes: The cluster of each battle, (n,).

    Returns:
        float (K, K), at least 1: of each strength on the diagonal, of each difference off it.

    References:
        Satterthwaite: An approximate distribution of estimates of variance components. 1946.
    """
    count, models = int(codes.max()) + 1, influence.shape[1]
    moves = np.stack([np.bincount(codes, each, count) for each in influence.T], axis=1)
    found = np.empty((models, models))
    for each in range(models):
        apart = moves - moves[:, each : each + 1]
        apart[:, each] = moves[:, each]
        fourth = (apart**4).sum(axis=0)
        effective = np.divide(
            (apart**2).sum(axis=0) ** 2, fourth, out=np.full(models, count * 1.0), where=fourth > 0
        )
        found[each] = np.maximum(effective - 1, 1)
    return found


def _find_contrasts(data: DecidedBattles, bread: Floats, order: bool) -> Floats:
    """Return the inverse information times each battle's own difference, float (K+1, n)."""
    found: Floats = bread[:, data.left] - bread[:, data.right] + (bread[:, -1:] if order else 0.0)
    return found


def _find_residual(data: DecidedBattles, fit: Fit, bread: Floats, order: bool) -> Floats:
    """Return the weighted difference of each battle's score from the expected one, float (n,).

    A rare pair's few battles weigh much, and the fit follows them. With unequal weights, the difference is
    therefore divided by one minus the battle's leverage: about the difference from a fit to all other battles.

    References:
        MacKinnon and White: Some heteroskedasticity-consistent covariance matrix estimators. 1985 (HC3).
    """
    expected = expit(fit.theta[data.left] - fit.theta[data.right] + fit.gamma)
    residual: Floats = data.weights * (data.score - expected)
    if data.weight is None:
        return residual
    moved, each = _find_contrasts(data, bread, order), np.arange(len(residual))
    own = moved[data.left, each] - moved[data.right, each] + (moved[-1] if order else 0.0)
    leverage = data.weights * expected * (1 - expected) * own
    residual /= 1 - np.minimum(leverage, _MOST_LEVERAGE)
    return residual


def _find_bread(data: DecidedBattles, fit: Fit, order: bool, prior: float) -> Floats:
    """Return the inverse information, of strengths whose mean stays, float (K+1, K+1)."""
    bread = np.linalg.pinv(information(data.tally(), fit, order=order, prior=prior), hermitian=True)
    bread[:-1] -= bread[:-1].mean(axis=0)
    found: Floats = bread.astype(np.float64)
    return found
