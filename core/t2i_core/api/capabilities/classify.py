"""Scores of an image for each class of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..array_codec import (
    check_vector,
    decode_labels,
    decode_vector,
    decode_vectors,
    encode_labels,
    encode_vector,
)
from ..judge import Query
from ..observation import Labels, StackableObservation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassScores(StackableObservation, capability="classify"):
    """A classifier's logits before softmax.

    Attributes:
        logits: float32 (len(labels),).
        labels: The judge's classes.
    """

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
