"""The metric `vqascore`: the probability that a model of questions and images answers yes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2i_core.api import (
    Failure,
    Metric,
    Need,
    Note,
    Query,
    QuestionAnswer,
    Row,
    Sample,
    Setup,
    Unit,
    VisualQuestion,
)
from t2i_core.api.capabilities.answer import YES_NO

from .options import VqaScoreOptions

NEED = "shown"
NO_PROBABILITIES = Note(
    "the judge gives no probabilities, so each image scores 0 or 1; VQAScore is the probability of yes"
)


class VqaScore(Metric):
    """The probability of the answer yes to the question whether the image shows the prompt."""

    options: VqaScoreOptions

    def __init__(self, setup: Setup[VqaScoreOptions]) -> None:
        super().__init__(setup)
        self.needs = (
            Need(NEED, "answer", queries=self.ask, question=self.options.question.replace("{}", "{prompt}")),
        )

    def ask(self, samples: Sequence[Sample]) -> Sequence[Query]:
        """Return the question about one image."""
        (sample,) = samples
        if sample.image is None:
            raise ValueError("this question is about generated images")
        text = self.options.question.replace("{}", sample.prompt.text)
        return [VisualQuestion(text, YES_NO, scene=sample.prompt.scene).about(sample.image)]

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield the score of one image."""
        answer: QuestionAnswer = unit.one().one(NEED)
        if answer.probs is None:
            if answer.choice is None:
                yield answer.explain_no_choice()
                return
            yield _write_row(float(answer.choice == "yes"), answer)
            yield NO_PROBABILITIES
            return
        yes, total = float(answer.probs[0]), float(answer.probs.sum())
        if self.options.normalise:
            if total <= 0:
                yield answer.explain_no_choice()
                return
            yes /= total
        yield _write_row(min(yes, 1.0), answer)


def _write_row(value: float, answer: QuestionAnswer) -> Row:
    """Return the row of an image, which says so if yes was not the most probable answer."""
    weights = answer.weights()
    if weights is None:
        because = "answered neither yes nor no"
    elif weights[0] == weights[1]:
        because = "yes and no are equally probable"
    else:
        because = "answered no" if weights[0] < weights[1] else ""
    return Row("vqascore", value, because=because)
