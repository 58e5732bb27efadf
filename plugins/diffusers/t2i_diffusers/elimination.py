"""Early elimination of captions that cannot win, to save evaluations of the denoiser."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student
from t2i_core.statistics.sequential import find_constant

from .likelihood_params import SAMPLES, LikelihoodParams


def list_looks(asked: LikelihoodParams) -> list[int]:
    """Return the numbers of terms after which captions are eliminated, ascending; the last is the total."""
    total = asked.trials * asked.steps
    if asked.stages:
        return [n for n, _ in asked.stages]
    if asked.error_rate is None:
        return [total]
    found = [SAMPLES]
    while found[-1] * 2 < total:
        found.append(found[-1] * 2)
    return [*(n for n in found if n < total), total]


def order(asked: LikelihoodParams) -> list[int]:
    """Return the indices of all terms (trial x steps + step) in the order of computation.

    With error_rate the order is random, so that the first terms are a sample of all terms. With stages, the terms
    of each stage are spread evenly.
    """
    total = asked.trials * asked.steps
    if asked.error_rate is not None:
        return np.random.Generator(np.random.PCG64(asked.seed)).permutation(total).tolist()
    places: dict[int, None] = {}
    for samples in list_looks(asked):
        even = ((np.arange(samples) + 0.5) * total / samples).astype(int).tolist()
        fresh = [place for place in even if place not in places]
        rest = [place for place in range(total) if place not in places and place not in set(fresh)]
        places |= dict.fromkeys([*fresh, *rest][: samples - len(places)])
    return list(places)


def find_survivors(values: NDArray[np.float64], asked: LikelihoodParams, look: int, captions: int) -> list[int]:
    """Return which captions stay after look number `look`.

    With error_rate, a caption is eliminated if the mean of its paired differences to the best caption is
    significantly above 0: Student's t with finite-population correction, as a normal score, exceeds the boundary
    of all looks (`find_limit`).

    Args:
        values: The terms so far of the remaining captions, shape (terms, captions); higher is better.
        asked: The params.
        look: Number of the look, from 0.
        captions: Number of captions at the start.
    """
    means = values.mean(axis=0)
    best = int(means.argmax())
    if asked.stages:
        keep = asked.stages[look][1]
        return sorted(np.argsort(-means, kind="stable")[:keep].tolist())
    if asked.error_rate is None:
        return list(range(values.shape[1]))
    n, total = len(values), asked.trials * asked.steps
    differences = values[:, [best]] - values
    error = differences.std(axis=0, ddof=1) * np.sqrt((1 - n / total) / n)
    limit = find_limit(tuple(list_looks(asked)), asked.error_rate / max(1, captions - 1))
    bound = differences.mean(axis=0) - student.isf(norm.sf(limit), n - 1) * error
    return [i for i in range(values.shape[1]) if i == best or bound[i] <= 0]


@cache
def find_limit(looks: tuple[int, ...], error_rate: float) -> float:
    """Return the boundary of a difference of two captions, a normal score that is the same at all looks.

    The mean of the first n of N terms in random order differs from the mean of all N by an error of the variance
    (1/n - 1/N) times that of the terms. These errors have independent increments, so 1 / (1/n - 1/N) is the
    information of a look. Nothing is eliminated at the last look, which has all terms.

    Args:
        looks: Numbers of terms, ascending; the last is the total.
        error_rate: Probability that the better of the two is eliminated at any look, in (0, 1).

    References:
        S. J. Pocock, Group sequential methods in the design and analysis of clinical trials (1977).
    """
    information = [1 / (1 / n - 1 / looks[-1]) for n in looks[:-1]]
    fractions = [each / information[-1] for each in information]
    return find_constant(fractions, alpha=min(1.0, 2 * error_rate), shape="pocock")
