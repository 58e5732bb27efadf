"""The reply of a language model to a text, without any image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..judge import Query
from ..observation import ONE, Labels, Observation, QueryShape, check_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TextReply(Observation, capability="reply"):
    """The reply of a language model to one text.

    Attributes:
        text: The reply, without the model's reasoning.
    """

    queries = (QueryShape(texts=ONE, role="the message"),)

    text: str

    def check_fields(self) -> None:
        """Raise if the reply is not a text."""
        check_text("text", self.text)

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: UTF-8."""
        return self.text.encode()

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        return cls(data.decode())

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return a reply that repeats the message."""
        return cls(f"you said: {' '.join(query.texts)}")
