"""What would other prompts and annotators have said? Covariances of strengths, resampled and by the sandwich.

Both give, for one way of clustering battles, the covariance of theta and gamma. Battles of one prompt, in both
orders and by whomever, are never taken for independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from .clusters import BattleClusters
from .fit import BattleTally, Fit, Floats, Fought, information, maximise

_TOGETHER = 64
"""So many sets are fitted at once: their tables stay in the processor's cache."""
_NUMBERS = 4_000_000
"""About so many numbers are held at a time, so that memory stays flat."""
_LIGHTEST = 1e-3
"""No cluster weighs less, so that none on which strengths rest is as good as left out."""


def resampled(
    data: Fought, clusters: BattleClusters, fit: Fit, *, order: bool, prior: float, rounds: int, rng_seed: int
) -> Floats:
    """Return the covariance, (K+1, K+1) with gamma last, by a Bayesian bootstrap of clusters (Rubin 1981).

    Weights are exponential, so that no cluster is dropped whole, after which strengths may not exist; the variance
    of a mean is then (G - 1) / (G + 1) of the unbiased one, for which the result makes up.
    """
    rng = np.random.default_rng(rng_seed)
    part = np.flatnonzero(clusters.codes >= 0)
    fixed = data.tally((clusters.codes < 0).astype(np.float64))
    fought, gained = _tables(data, clusters, part)
    per_pass = max(1, min(rounds, _NUMBERS // data.models**2))
    drawn = [
        _strengths(_weighed(rng, clusters.times, fought, gained, n, fixed), fit, order, prior)
        for n in [per_pass] * (rounds // per_pass) + [rounds % per_pass] * (rounds % per_pass > 0)
    ]
    count = clusters.count
    return np.cov(np.concatenate(drawn), rowvar=False) * (count + 1) / (count - 1)


def _tables(
    data: Fought, clusters: BattleClusters, part: NDArray[np.intp]
) -> tuple[sparse.csc_array, sparse.csc_array]:
    """What each cluster has of each pair's battles, (K * K, clusters), and of wins, (K + 1, clusters)."""
    left, right, score, codes = data.left[part], data.right[part], data.score[part], clusters.codes[part]
    share, models = clusters.shares[part], data.models
    fought = sparse.csc_array(
        (share.astype(np.float32), (left * models + right, codes)), shape=(models**2, len(clusters.times))
    )
    gained = share * score
    rows = np.concatenate([left, right, np.full(len(part), models)])
    values = np.concatenate([gained, share - gained, gained]).astype(np.float32)
    columns = np.concatenate([codes] * 3)
    return fought, sparse.csc_array((values, (rows, columns)), shape=(models + 1, len(clusters.times)))


def _weighed(
    rng: np.random.Generator,
    times: Floats,
    fought: sparse.csc_array,
    gained: sparse.csc_array,
    rounds: int,
    fixed: BattleTally,
) -> BattleTally:
    """Sum up the battles under each round's weights of the clusters."""
    models = fixed.wins.size
    pairs, wins = np.zeros((models**2, rounds), np.float32), np.zeros((models + 1, rounds), np.float32)
    alone = bool((times == 1).all())
    chunk = max(1, _NUMBERS // rounds)
    for begin in range(0, len(times), chunk):
        some = slice(begin, begin + chunk)
        size = (len(times[some]), rounds)
        if alone:
            weight = rng.standard_exponential(size, dtype=np.float32)
        else:  # the sum of so many exponential weights
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
    """Fit each round: (rounds, K+1), gamma last."""
    found = []
    for begin in range(0, len(data.wins), _TOGETHER):
        some = slice(begin, begin + _TOGETHER)
        sets = BattleTally(data.fought[some], data.wins[some], data.first[some])
        fit = maximise(sets, order=order, prior=prior, start=start)
        found.append(np.concatenate([fit.theta, fit.gamma[:, None]], axis=1))
    return np.concatenate(found)


def sandwich(data: Fought, clusters: BattleClusters, fit: Fit, *, order: bool, prior: float) -> Floats:
    """Return the covariance, (K+1, K+1) with gamma last, robust to what clusters have in common.

    The inverse information on either side of the sum over clusters of their scores' outer products (Liang and
    Zeger 1986).
    """
    models = data.models
    residual = data.score - expit(fit.theta[data.left] - fit.theta[data.right] + fit.gamma)
    part = np.flatnonzero(clusters.codes >= 0)
    codes, residual = clusters.codes[part], residual[part] * clusters.shares[part]
    rows = np.concatenate([data.left[part], data.right[part], np.full(len(part), models)])
    values = np.concatenate([residual, -residual, residual if order else np.zeros(len(part))])
    columns = np.concatenate([codes] * 3)
    scores = sparse.csr_array((values, (rows, columns)), shape=(models + 1, len(clusters.times)))
    meat = (scores @ sparse.diags_array(clusters.times) @ scores.T).toarray()
    bread = np.linalg.pinv(information(data.tally(), fit, order=order, prior=prior), hermitian=True)
    centre = np.eye(models + 1)
    centre[:models, :models] -= 1.0 / models
    count = clusters.count
    return centre @ bread @ meat @ bread @ centre.T * count / (count - 1)
