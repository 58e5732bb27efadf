"""Embeddings of images and texts in a common space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..array_codec import (
    check_vector,
    decode_truncation,
    decode_vector,
    decode_vectors,
    encode_truncation,
    encode_vector,
)
from ..judge import Query
from ..observation import ONE, Labels, QueryShape, StackableObservation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Embedding(StackableObservation, capability="embed"):
    """The embedding of an image or a text in a common space.

    Attributes:
        values: float32 (d,), not normalised.
        cut_to: Number of tokens read, if the text was truncated; otherwise None.
    """

    queries = (QueryShape(images=1), QueryShape(texts=ONE, role="a text"))

    values: NDArray[np.float32]
    cut_to: int | None = None

    def check_fields(self) -> None:
        """Raise if the values are not a vector."""
        check_vector("values", self.values)

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32, followed by two bytes with `cut_to` if the text was truncated."""
        return encode_vector(self.values) + encode_truncation(self.cut_to)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        whole = len(data) // 4 * 4
        return cls(decode_vector(data[:whole]), decode_truncation(data[whole:]))

    @classmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Return several stored forms as one observation: `values` of shape (len(data), d).

        Raises:
            ValueError: If they differ in length, or are of truncated texts.
        """
        return cls(decode_vectors(data))

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the mean colour."""
        return cls(colour)
