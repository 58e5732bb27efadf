"""The text that an image shows, line by line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..array_codec import decode_arrays, encode_arrays
from ..judge import Query
from ..observation import Labels, Observation, check_text
from .detect import check_boxes, check_probabilities, format_size

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ReadText(Observation, capability="read"):
    """The text read in one image, in lines or words as the judge finds them.

    Attributes:
        size: Width and height of the image in pixels.
        lines: The texts in reading order, none of them blank. Empty if the image shows no text.
        boxes: float32 (n, 4), the box around each line: x0, y0, x1, y1 in pixels of the image, y growing downward,
            if the judge gives them.
        scores: float32 (n,), confidence in each line, in [0, 1], if the judge gives them.
    """

    extras = ("boxes", "scores")
    has_floor = True

    size: tuple[int, int]
    lines: tuple[str, ...]
    boxes: Floats | None = None
    scores: Floats | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def select(self, confidence: float) -> list[int]:
        """Return the indices of the lines with at least this confidence; of all lines if the judge gives none."""
        if self.scores is None:
            return list(range(len(self)))
        return [number for number, score in enumerate(self.scores) if score >= confidence]

    def check_fields(self) -> None:
        """Raise if a line is not a text, or boxes or scores do not fit the lines."""
        for line in self.lines:
            check_text("line", line)
        for name, array, shape in (("boxes", self.boxes, (len(self), 4)), ("scores", self.scores, (len(self),))):
            if array is not None and np.shape(array) != shape:
                raise ValueError(f"gave {name} of shape {np.shape(array)} for {len(self)} lines")

    def check(self, query: Query) -> None:
        """Raise if a line is blank, the size is not the image's, or values are out of range."""
        if not all(line.strip() for line in self.lines):
            raise ValueError("gave a blank line; leave it out")
        if query.images and self.size != (size := query.images[0].pixels.shape[1::-1]):
            raise ValueError(f"gave a size of {format_size(self.size)} pixels for an image of {format_size(size)}")
        if self.scores is not None:
            check_probabilities("scores", self.scores)
        if self.boxes is not None:
            check_boxes(self.boxes, self.size)

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: size and lines as one line of JSON, then boxes and scores as safetensors."""
        given = {"boxes": self.boxes, "scores": self.scores}
        arrays = {name: np.asarray(array, np.float32) for name, array in given.items() if array is not None}
        head = json.dumps([list(self.size), list(self.lines)], ensure_ascii=False).encode()
        return head + b"\n" + encode_arrays(arrays)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        head, _, tail = data.partition(b"\n")
        (width, height), lines = json.loads(head)
        arrays = decode_arrays(tail)
        return cls((width, height), tuple(lines), arrays.get("boxes"), arrays.get("scores"))

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return one line in the upper half that says how bright the image is, with the mean of red as score."""
        height, width = query.images[0].pixels.shape[:2]
        boxes = np.array([[0, 0, width, height // 2]], np.float32)
        scores = np.array([colour[0] / 255], np.float32)
        return cls((width, height), (f"mean {colour.mean():.1f}",), boxes, scores)
