"""The metric `soft-tifa`: means of the probabilities of the right answers, as GenEval 2 has them.

References:
    Kamath et al.: GenEval 2. arXiv:2512.16853. facebookresearch/GenEval2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log

from t2i_core.api import Failure, Note, Row, Unit

from .judged_questions import explain, show_answers
from .question_metric import QuestionMetric, write_answer_row

NO_PROBABILITIES = Note("the judge gives no probabilities, so each answer scores 0 or 1")


class SoftTifa(QuestionMetric):
    """Arithmetic and geometric mean of the probabilities of right answers."""

    name = "soft-tifa"

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the means of one image, and the probability of each question."""
        observed = unit.one()
        pictures = self.judge(observed)
        if isinstance(pictures, Failure):
            yield pictures
            return
        (judged,) = pictures
        values = [each.probability for each in judged]
        weights = [each.question.weight for each in judged]
        why = explain(judged)
        yield Row("soft-tifa-am", compute_arithmetic_mean(values, weights), because=why)
        mean = compute_geometric_mean(values, weights)
        yield Row("soft-tifa-gm", mean, because=why, evidence=show_answers(judged))
        for each in judged:
            yield write_answer_row("probability", each, each.probability)
        if not all(each.has_probability for each in judged):
            yield NO_PROBABILITIES
        yield from self.list_notes(observed)


def compute_arithmetic_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean of probabilities."""
    return sum(weight * value for value, weight in zip(values, weights, strict=True)) / sum(weights)


def compute_geometric_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted geometric mean of probabilities; 0 if one of them is 0."""
    if min(values) <= 0:
        return 0.0
    mean = sum(weight * log(value) for value, weight in zip(values, weights, strict=True)) / sum(weights)
    return min(exp(mean), 1.0)
