"""A description of an image in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..judge import Query
from ..observation import Labels, Observation, check_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Caption(Observation, capability="caption"):
    """A text that describes one image.

    Attributes:
        text: The description.
    """

    text: str

    def check_fields(self) -> None:
        """Raise if the caption is not a text."""
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
        """Return a caption that says how bright the image is."""
        return cls(f"an image with a mean of {colour.mean():.1f}")
