"""Feature vectors of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..adapter import register_adapter
from ..array_codec import check_vector, decode_vector, decode_vectors, encode_vector
from ..judge import Query
from ..observation import Labels, StackableObservation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .embed import Embedding


@dataclass(frozen=True)
class Features(StackableObservation, capability="features"):
    """An image's feature vector (Inception's pool3 and the like).

    Attributes:
        values: float32 (d,).
    """

    values: NDArray[np.float32]

    def check_fields(self) -> None:
        """Raise if the values are not a vector."""
        check_vector("values", self.values)

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: raw float32."""
        return encode_vector(self.values)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        return cls(decode_vector(data))

    @classmethod
    def stacked(cls, data: Sequence[bytes], labels: Labels | None) -> Self:
        """Return several stored forms as one observation: `values` of shape (len(data), d).

        Raises:
            ValueError: If they differ in length.
        """
        return cls(decode_vectors(data))

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the mean colour."""
        return cls(colour)


@register_adapter(
    wanted="features",
    offered="embed",
    note="the embedding of the image; distances compare only with those of the same judge",
)
def _take_embedding(image: Embedding) -> Features:
    return Features(image.values)
