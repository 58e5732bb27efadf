"""Scores of an image for each class of a classifier, and an adapter that asks which class it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from ..adapter import register_adapter
from ..array_codec import (
    check_vector,
    decode_labels,
    decode_vector,
    decode_vectors,
    encode_labels,
    encode_vector,
)
from ..failure import Failure
from ..judge import Query
from ..observation import ANY, Labels, QueryShape, StackableObservation
from ..prompt import ObjectClass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .answer import QuestionAnswer

CERTAIN = 100.0
"""Difference of logits of a certain class and an impossible one."""


@dataclass(frozen=True)
class ClassScores(StackableObservation, capability="classify"):
    """A classifier's logits before softmax.

    Attributes:
        logits: float32 (len(labels),).
        labels: The judge's classes.
    """

    queries = (QueryShape(images=1, texts=ANY, role="the classes to choose from"),)

    logits: NDArray[np.float32]
    labels: Labels

    def check_fields(self) -> None:
        """Raise if the logits are not a vector."""
        check_vector("logits", self.logits)

    def check(self, query: Query) -> None:
        """Raise if there is not one logit per label."""
        if self.logits.shape != (len(self.labels),):
            raise ValueError(f"gave {len(self.logits)} logits for {len(self.labels)} labels")

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32, preceded by the labels if the judge declares none."""
        head = b"" if labels is not None else encode_labels(self.labels) + b"\n"
        return head + encode_vector(self.logits)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        if labels is None:
            head, _, data = data.partition(b"\n")
            labels = decode_labels(head)
        return cls(decode_vector(data), labels)

    @classmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Return several stored forms as one observation: `logits` of shape (len(data), len(labels)).

        Raises:
            ValueError: If their labels differ.
        """
        if labels is None:
            heads, data = zip(
                *((head, tail) for head, _, tail in (one.partition(b"\n") for one in data)), strict=True
            )
            if len(set(heads)) != 1:
                raise ValueError("scores of other classes than before")
            labels = decode_labels(heads[0])
        return cls(decode_vectors(data), labels)

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the means of red and green as logits of the two classes."""
        return cls(colour[:2], labels)


def _ask_for_class(query: Query) -> list[Query]:
    """Return the question which of the classes an image shows; none if the query names no two classes."""
    if len(query.texts) < 2:
        return []
    return [Query(query.images, ("Which of these does this image show best?", *query.texts))]


@register_adapter("classify", "answer", expand=_ask_for_class, note="asked which of the classes the image shows")
def _take_as_class(*answers: QuestionAnswer) -> ClassScores | Failure:
    if not answers:
        return Failure("the metric names no classes, and a judge of answer can only choose among named ones")
    (answer,) = answers
    weights = answer.weights()
    if weights is None:
        return answer.explain_no_choice() if answer.votes else Failure("the judge chose none of the classes")
    logits = np.log(np.maximum(weights, np.exp(-CERTAIN))).astype(np.float32)
    return ClassScores(logits, tuple(ObjectClass(choice) for choice in answer.choices))
