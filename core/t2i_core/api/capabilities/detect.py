"""Objects in an image, with boxes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..adapter import register_adapter
from ..array_codec import decode_arrays, decode_labels, encode_arrays, encode_labels
from ..judge import Query
from ..observation import ANY, Labels, Observation, QueryShape
from ..prompt import ObjectClass

if TYPE_CHECKING:
    from .segment import Segments

ROUNDING = 0.01
"""Tolerance of probabilities and their sums, because some judges compute in half precision."""

OVERHANG = 1.0
"""Number of pixels by which a box may leave its image, because some judges measure from pixel centres."""


@dataclass(frozen=True)
class Detections(Observation, capability="detect"):
    """Objects detected in one image, with confidences down to the judge's floor.

    Attributes:
        size: Width and height of the image in pixels.
        boxes: float32 (n, 4): x0, y0, x1, y1 in pixels of the image, y growing downward.
        scores: float32 (n,), confidence in [0, 1].
        classes: int16 (n,), index into `labels`.
        labels: The judge's classes; if it declares none, the classes found.
        class_probs: float32 (n, len(labels)), probabilities with any background dropped, if the judge gives them.
        colours: float32 (n, len(colour_names)), probabilities, if the judge gives them.
        colour_names: The names of the colours.
    """

    queries = (QueryShape(images=1, texts=ANY, role="the classes to look for"),)
    extras = ("class_probs", "colour")
    has_floor = True

    size: tuple[int, int]
    boxes: NDArray[np.float32]
    scores: NDArray[np.float32]
    classes: NDArray[np.int16]
    labels: Labels
    class_probs: NDArray[np.float32] | None = None
    colours: NDArray[np.float32] | None = None
    colour_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def label(self, index: int) -> ObjectClass:
        """Return the class of detection `index`."""
        return self.labels[int(self.classes[index])]

    def check_fields(self) -> None:
        """Raise if the stored form would change boxes (wrong shape) or classes (not 16-bit integers)."""
        n = len(self.scores)
        if np.shape(self.boxes) != (n, 4) and (n or np.size(self.boxes)):
            raise ValueError(
                f"gave boxes of shape {np.shape(self.boxes)} for {n} detections; the shape must be ({n}, 4)"
            )
        if not np.array_equal(np.asarray(self.classes, np.int16), self.classes):
            raise ValueError("gave classes that are not 16-bit integers")

    def check(self, query: Query) -> None:
        """Raise if arrays do not fit each other, the size is not the image's, or values are out of range."""
        n = len(self.scores)
        self._check_shapes(n)
        if n and not (self.classes.min() >= 0 and self.classes.max() < len(self.labels)):
            worst = min(self.classes.min(), 0) or self.classes.max()
            raise ValueError(f"gave a class {int(worst)} of {len(self.labels)} labels")
        if query.images and self.size != (size := query.images[0].pixels.shape[1::-1]):
            raise ValueError(f"gave a size of {format_size(self.size)} pixels for an image of {format_size(size)}")
        check_boxes(self.boxes, self.size)
        check_probabilities("scores", self.scores)
        for name, array in (("class_probs", self.class_probs), ("colours", self.colours)):
            if array is not None:
                check_probabilities(name, array)
                if n and array.sum(axis=1).max() > 1 + ROUNDING:
                    raise ValueError(f"gave {name} whose sum is {array.sum(axis=1).max():.3g}, more than 1")

    def _check_shapes(self, n: int) -> None:
        shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
            "scores": (self.scores, (n,)),
            "boxes": (self.boxes, (n, 4)),
            "classes": (self.classes, (n,)),
        }
        if self.class_probs is not None:
            shapes["class_probs"] = (self.class_probs, (n, len(self.labels)))
        if self.colours is not None:
            shapes["colours"] = (self.colours, (n, len(self.colour_names)))
        for name, (array, expected) in shapes.items():
            if array.shape != expected:
                raise ValueError(
                    f"gave {name} of shape {array.shape} for {n} detections; the shape must be {expected}"
                )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "size": np.asarray(self.size, np.int32),
            "boxes": np.asarray(self.boxes, np.float32).reshape(-1, 4),
            "scores": np.asarray(self.scores, np.float32),
            "classes": np.asarray(self.classes, np.int16),
        }
        if self.class_probs is not None:
            arrays["class_probs"] = np.asarray(self.class_probs, np.float32)
        if self.colours is not None:
            arrays["colours"] = np.asarray(self.colours, np.float32)
            arrays["colour_names"] = np.frombuffer(json.dumps(self.colour_names).encode(), np.uint8)
        return arrays

    @staticmethod
    def _fields(arrays: dict[str, NDArray[Any]], labels: Labels | None) -> dict[str, Any]:
        names = arrays.get("colour_names")
        return {
            "size": (int(arrays["size"][0]), int(arrays["size"][1])),
            "boxes": arrays["boxes"],
            "scores": arrays["scores"],
            "classes": arrays["classes"],
            "labels": decode_labels(arrays["labels"].tobytes()) if labels is None else labels,
            "class_probs": arrays.get("class_probs"),
            "colours": arrays.get("colours"),
            "colour_names": () if names is None else tuple(json.loads(names.tobytes())),
        }

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: a safetensors file."""
        arrays = self._arrays()
        if labels is None:
            arrays["labels"] = np.frombuffer(encode_labels(self.labels), np.uint8)
        return encode_arrays(arrays)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        return cls(**cls._fields(decode_arrays(data), labels))

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return one object of the first class in the left half, with the mean of red as its confidence."""
        return cls(**cls._sample_fields(query, colour, labels))

    @classmethod
    def _sample_fields(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> dict[str, Any]:
        height, width = query.images[0].pixels.shape[:2]
        red = colour[0] / 255
        return {
            "size": (width, height),
            "boxes": np.array([[0, 0, width // 2, height]], np.float32),
            "scores": np.array([red], np.float32),
            "classes": np.array([0], np.int16),
            "labels": labels,
            "class_probs": np.array([[red, 1 - red]], np.float32),
            "colours": np.array([[red, 1 - red]], np.float32),
            "colour_names": ("red", "blue"),
        }


def check_boxes(boxes: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Raise ValueError if one of the boxes (n, 4) is not in order or leaves an image of this size."""
    x0, y0, x1, y1 = boxes.T
    width, height = size
    outside = (x0 < -OVERHANG) | (y0 < -OVERHANG) | (x1 > width + OVERHANG) | (y1 > height + OVERHANG)
    if (wrong := outside | (x1 < x0) | (y1 < y0)).any():
        box = ", ".join(f"{side:.4g}" for side in boxes[np.argmax(wrong)])
        raise ValueError(
            f"gave a box ({box}); it must have x0 <= x1 and y0 <= y1 and lie within the {format_size(size)} pixels"
        )


def check_probabilities(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError if numbers are not in [0, 1]."""
    if array.size and not (array.min() >= -ROUNDING and array.max() <= 1 + ROUNDING):
        raise ValueError(f"gave {name} from {array.min():.3g} to {array.max():.3g}; they must be from 0 to 1")


def format_size(size: tuple[int, int]) -> str:
    """Return width and height as text."""
    return f"{size[0]} x {size[1]}"


@register_adapter("detect", "segment")
def _leave_out_masks(segments: Segments) -> Detections:
    return segments.without_masks()
