"""Preferences between two images for a text, and adapters that compare rewards or ask which image is better."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

from ..adapter import register_adapter
from ..judge import Query
from ..observation import ONE, Labels, Observation, QueryShape, check_number, check_text
from ..rater_answer import RaterAnswer, check_rater_answers, read_rater_answers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .answer import QuestionAnswer
    from .reward import Reward

Verdict = Literal["first", "second", "tie", "both_bad", "unparsable", "refused"]


@dataclass(frozen=True)
class Preference(Observation, capability="prefer"):
    """The better of two images, in the order shown, for one text.

    Attributes:
        verdict: The answer.
        margin: How much better the first is on the judge's own scale, if it has one.
        reasoning: The judge's words, if it gives any.
        votes: If people gave the verdict, what each of them answered, as a verdict on the images in the order of
            the query.
    """

    queries = (QueryShape(images=2, texts=ONE, role="the prompt"),)

    verdict: Verdict
    margin: float | None = None
    reasoning: str = ""
    votes: tuple[RaterAnswer, ...] = ()

    def check_fields(self) -> None:
        """Raise if the verdict is unknown, or a field has the wrong type."""
        if self.verdict not in get_args(Verdict):
            raise ValueError(
                f"gave the verdict {self.verdict!r}; it must be one of {', '.join(get_args(Verdict))}"
            )
        if self.margin is not None:
            check_number("margin", self.margin)
        check_text("reasoning", self.reasoning)
        check_rater_answers(self.votes)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote; earlier versions kept no votes."""
        verdict, margin, reasoning, *votes = json.loads(data)
        return cls(verdict, margin, reasoning, read_rater_answers(*votes) if votes else ())

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Prefer the brighter image."""
        return cls("first" if colour.mean() > query.images[1].pixels.mean() else "second")


def _each_image(query: Query) -> list[Query]:
    return [Query((image,), query.texts, query.params) for image in query.images]


@register_adapter("prefer", "reward", expand=_each_image, note="the higher reward wins, equal ones tie")
def _compare(first: Reward, second: Reward) -> Preference:
    margin = first.value - second.value
    if first.value == second.value:
        return Preference("tie", margin)
    return Preference("first" if first.value > second.value else "second", margin)


_CHOICES: Mapping[str, Verdict] = {
    "the first image": "first",
    "the second image": "second",
    "both equally well": "tie",
    "neither of them": "both_bad",
}


def _ask_which_fits(query: Query) -> list[Query]:
    return [Query(query.images, (f'Which image shows "{" ".join(query.texts)}" better?', *_CHOICES))]


@register_adapter("prefer", "answer", expand=_ask_which_fits, note="asked which image shows the text better")
def _take_as_preference(answer: QuestionAnswer) -> Preference:
    weights = answer.weights()
    margin = None if weights is None or answer.probs is None else float(weights[0] - weights[1])
    verdict = "unparsable" if answer.choice is None else _CHOICES[answer.choice]
    return Preference(verdict, margin, answer.text)
