"""The metric `is`: the Inception Score with any classifier."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_softmax
from t2i_core.api import Excluded, Need, Note, Row, SetMetric, Setup, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.options import InceptionScoreOptions
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.vectors import Floats, draw_uniform, stack

NEED = "classes"


def inception_score(log_probabilities: Floats) -> float:
    """Return exp(mean over images x of KL(p(y|x) || p(y))), at least 1, at most the number of classes or images.

    Args:
        log_probabilities: (images, classes).

    References:
        Salimans et al. (2016), section 4.
    """
    p = np.exp(log_probabilities)
    marginal = p.mean(axis=0)
    # the mean of KL is H(p(y)) - mean H(p(y|x)); a class with probability 0 in all images adds nothing
    gain = (p * log_probabilities).sum(axis=1).mean() - (marginal * np.log(np.maximum(marginal, 1e-300))).sum()
    return max(float(np.exp(gain)), 1.0)


class InceptionScore(SetMetric):
    """Inception Score: how confidently a classifier labels each image, and how varied the labels are."""

    options: InceptionScoreOptions
    whole_prompts = True  # images of one prompt are alike; resampling them alone would bias the divergence

    def __init__(self, setup: Setup[InceptionScoreOptions]) -> None:
        super().__init__(setup)
        self.needs = (Need(NEED, "classify"),)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Excluded]:
        """Yield one row for a model's set: the mean over equal random splits with at least two images each."""
        logits, order = [], []
        chosen = RepetitionFilter(self.options.repetitions)
        for observed in chosen(unit.observed):
            logits.append(observed.one(NEED).logits)
            order.append(float(draw_uniform(observed.sample, self.options.seed, 1)[0]))
        if len(logits) < 2:
            yield Excluded("is: the score of a single image is always 1; at least two images are needed")
            return
        log_probabilities = log_softmax(stack(logits)[np.argsort(order)], axis=1)
        splits = np.array_split(log_probabilities, min(self.options.splits, len(logits) // 2))
        yield Row("is", float(np.mean([inception_score(split) for split in splits])))
        yield from map(Note, remarks.warn_is(len(logits), len(splits), self.options.splits))
        yield from map(Note, remarks.count_repetitions("is", chosen.dropped))
