"""Early elimination of captions that cannot win, to save evaluations of the denoiser."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

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


def find_survivors(values: NDArray[np.float64], asked: LikelihoodParams, look: int) -> list[int]:
    """Return which captions stay after look number `look`.

    With error_rate, a caption is eliminated if the mean of its paired differences to the best caption is
    significantly above 0: Student's bound with finite-population correction, with the error rate divided among
    looks and captions.

    `values` has the shape (terms, captions) for the remaining captions; higher is better.
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
    rate = asked.error_rate / (len(list_looks(asked)) * max(1, values.shape[1] - 1))
    bound = differences.mean(axis=0) - student.isf(rate, n - 1) * error
    return [i for i in range(values.shape[1]) if i == best or bound[i] <= 0]
