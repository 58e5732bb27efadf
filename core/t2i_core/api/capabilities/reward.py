"""Rewards of images for texts, and adapters: the cosine of embeddings, and the weight of a yes."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from ..adapter import register_adapter
from ..array_codec import decode_truncation, encode_truncation
from ..failure import Failure
from ..judge import Query
from ..observation import ONE, Labels, Observation, QueryShape, check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .answer import QuestionAnswer
    from .embed import Embedding

_VALUE = struct.calcsize("<d")
"""Number of bytes of the value in the stored form."""


@dataclass(frozen=True)
class Reward(Observation, capability="reward"):
    """The reward of one image for one text, on the judge's own scale; higher is better.

    Attributes:
        value: The number.
        cut_to: Number of tokens read, if the text was truncated; otherwise None.
    """

    queries = (QueryShape(images=1, texts=ONE, role="the prompt"),)

    value: float
    cut_to: int | None = None

    def check_fields(self) -> None:
        """Raise if the value is not a number."""
        check_number("value", self.value)

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: one float64, followed by two bytes with `cut_to` if the text was truncated."""
        return struct.pack("<d", self.value) + encode_truncation(self.cut_to)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        (value,) = struct.unpack("<d", data[:_VALUE])
        return cls(value, decode_truncation(data[_VALUE:]))

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return the brightness of the image."""
        return cls(float(colour.mean()))


def _image_and_text(query: Query) -> list[Query]:
    return [Query(images=query.images, params=query.params), Query(texts=query.texts, params=query.params)]


@register_adapter(wanted="reward", offered="embed", expand=_image_and_text, note="cosine of image and text")
def _cosine(image: Embedding, text: Embedding) -> Reward | Failure:
    a, b = (each.values.astype(np.float64) for each in (image, text))
    if a.shape != b.shape:
        return Failure(f"an image's embedding has {a.size} dimensions, a text's {b.size}")
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return Reward(float(a @ b) / norm, text.cut_to) if norm else Failure("an embedding is 0: it has no cosine")


def _ask_whether_shown(query: Query) -> list[Query]:
    return [Query(query.images, (f'Does this image show "{" ".join(query.texts)}"?', "yes", "no"))]


@register_adapter(
    "reward",
    "answer",
    expand=_ask_whether_shown,
    note="asked whether the image shows the text: yes is 1, no is 0",
)
def _take_expected_value(answer: QuestionAnswer) -> Reward | Failure:
    value = answer.expected_value((1, 0))
    return answer.explain_no_choice() if value is None else Reward(value)
