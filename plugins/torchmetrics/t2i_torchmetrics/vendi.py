"""The metric `vendi`: the effective number of different images in a model's set."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp
from t2i_core.api import Excluded, Need, Note, Row, SetMetric, Setup, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.cmmd import normalise
from t2i_torchmetrics.options import VendiOptions
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.vectors import Floats, stack

NEED = "features"


def vendi_score(vectors: Floats, order: float = 1) -> float:
    """Return the exponential of the entropy of the eigenvalues of K / n, with K the cosines of all pairs.

    Args:
        vectors: Features, shape (n, d).
        order: Order of the entropy: 1 is Shannon's; more gives rare images less weight.

    Returns:
        From 1, if all images are the same, to n.

    References:
        D. Friedman and A. B. Dieng, The Vendi Score (2023), definition 3.1; A. P. Pasarkar and A. B. Dieng,
        Cousins of the Vendi Score (2024), for other orders.
    """
    x = normalise(vectors)
    square = x @ x.T if len(x) <= x.shape[1] else x.T @ x  # their eigenvalues differ only by zeros
    values = np.linalg.eigvalsh(square / len(x))
    logs = np.log(values[values > values[-1] * len(values) * np.finfo(np.float64).eps])  # without rounding noise
    if order == 1:
        return float(np.exp(-(np.exp(logs) * logs).sum()))
    if math.isinf(order):
        return float(np.exp(-logs.max()))
    return float(np.exp(logsumexp(order * logs) / (1 - order)))


class VendiScore(SetMetric):
    """Vendi score: how many different images a set holds, as an effective number."""

    options: VendiOptions
    whole_prompts = True  # images of one prompt are alike; leaving single ones out would change little

    def __init__(self, setup: Setup[VendiOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "features"),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Excluded]:
        """Yield one row for a model's set of images."""
        chosen = RepetitionFilter(self.options.repetitions)
        vectors = [observed.one(NEED).values for observed in chosen(unit.observed)]
        if len(vectors) < 2:
            yield Excluded("vendi: the score of a single image is always 1; at least two images are needed")
            return
        yield Row("vendi", vendi_score(stack(vectors), float(self.options.order)))
        yield Note(remarks.describe_vendi(len(vectors)))
        yield from map(Note, remarks.count_repetitions("vendi", chosen.dropped))
