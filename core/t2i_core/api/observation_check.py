"""Whether an image or an observation is what it claims to be, before it is kept."""

from __future__ import annotations

import numbers
import zlib
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .image import Truth
from .judge import Capability, Query
from .mask import PackedMask
from .observation import (
    TYPES,
    Caption,
    ClassScores,
    Detections,
    Embedding,
    Features,
    Labels,
    LikelihoodTerms,
    Preference,
    Reward,
    Segments,
    Verdict,
)
from .redaction import redact

ROUNDING = 0.01
"""By how much probabilities may leave 0 to 1, and their sum 1: half precision rounds that far."""

OVERHANG = 1.0
"""Pixels by which a box may leave its image: edges are counted from pixels' middles by some."""


def find_image_fault(pixels: Any, truth: Truth | None) -> str | None:
    """Say what is wrong with a generated image, or with the truth that comes with it, if anything."""
    if not isinstance(pixels, np.ndarray):
        return f"the generator gave {type(pixels).__name__} where pixels were asked for"
    if np.issubdtype(pixels.dtype, np.floating) and not np.isfinite(pixels).all():
        return "the generator gave pixels that are not numbers"
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        return f"the generator gave {pixels.dtype} of shape {pixels.shape}, want uint8 of (height, width, 3)"
    if not pixels.any():
        return "blank image: every pixel is black"
    size = (pixels.shape[1], pixels.shape[0])
    if truth is None or all(each == size for each in (truth.size, *(i.mask.size for i in truth.instances))):
        return None
    return f"the generator gave an image of {_by(size)} pixels with the truth of one of another size"


def encode_checked(answer: Any, capability: Capability, labels: Labels | None, query: Query) -> bytes:
    """Return the bytes under which an answer is kept, checked as they will be read.

    labels: the classes that the judge declares; None where it takes any text
    query:  what was asked: boxes and masks must be of its image, terms of its captions
    Raises ValueError or TypeError, saying what is wrong: another type, other labels than declared, values that are
    not numbers or out of their range, arrays that do not fit each other, masks of another size than the image.
    """
    kind = TYPES[capability]
    if not isinstance(answer, kind):
        raise TypeError(f"gave {type(answer).__name__} where {kind.__name__} was asked for")
    if labels is not None and getattr(answer, "labels", labels) != labels:
        raise ValueError("answered with other labels than it declares")
    _check_given(answer)
    answer = _without_secrets(answer)
    value: bytes = answer.to_bytes(labels)
    _check_read(kind.from_bytes(value, labels), query)
    return value


def _without_secrets(answer: Any) -> Any:
    """Return an answer with its texts (a judge's words) redacted."""
    texts = {f.name: getattr(answer, f.name) for f in fields(answer)}
    redacted = {name: redact(text) for name, text in texts.items() if isinstance(text, str)}
    return replace(answer, **redacted) if redacted else answer


def _check_given(answer: Any) -> None:
    """Refuse what the stored form would bend into something else."""
    match answer:
        case Reward():
            _want_number("value", answer.value)
        case Preference():
            if answer.verdict not in get_args(Verdict):
                raise ValueError(
                    f"gave the verdict {answer.verdict!r}, want one of {', '.join(get_args(Verdict))}"
                )
            if answer.margin is not None:
                _want_number("margin", answer.margin)
            _want_text("reasoning", answer.reasoning)
        case Caption():
            _want_text("text", answer.text)
        case Embedding() | Features():
            _want_vector("values", answer.values)
        case ClassScores():
            _want_vector("logits", answer.logits)
        case Detections():
            _check_given_detections(answer)


def _want_number(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Real):
        raise TypeError(f"gave a {name} that is no number but {type(value).__name__}")


def _want_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"gave a {name} that is no text but {type(value).__name__}")


def _want_vector(name: str, value: Any) -> None:
    if np.ndim(value) != 1 or len(value) == 0:
        raise ValueError(f"gave {name} of shape {np.shape(value)}, want a vector")


def _check_given_detections(answer: Detections) -> None:
    n = len(answer.scores)
    if np.shape(answer.boxes) != (n, 4) and (n or np.size(answer.boxes)):
        raise ValueError(f"gave boxes of shape {np.shape(answer.boxes)} for {n} detections, want ({n}, 4)")
    if not np.array_equal(np.asarray(answer.classes, np.int16), answer.classes):
        raise ValueError("gave classes that are not whole numbers of 16 bits")
    if isinstance(answer, Segments):
        for mask in answer.masks:
            if mask.size != tuple(answer.size):
                raise ValueError(f"gave a mask of {_by(mask.size)} pixels for an image of {_by(answer.size)}")
            _check_mask(mask)


def _check_mask(mask: PackedMask) -> None:
    x0, y0, x1, y1 = mask.box
    if not (0 <= x0 <= x1 <= mask.size[0] and 0 <= y0 <= y1 <= mask.size[1]):
        raise ValueError(f"gave a mask whose box {mask.box} leaves its image of {_by(mask.size)} pixels")
    try:
        found = len(zlib.decompress(mask.data)) if mask.data else 0
    except zlib.error as error:
        raise ValueError(f"gave a mask that cannot be unpacked ({error})") from error
    if found != -(-(x1 - x0) * (y1 - y0) // 8):
        raise ValueError(f"gave a mask of {found} bytes for a box of {x1 - x0} x {y1 - y0} pixels")


def _check_read(read: Any, query: Query) -> None:
    for name in read.__dataclass_fields__:
        value = getattr(read, name)
        if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
            raise ValueError(f"gave {name} that are not numbers")
    match read:
        case Detections():
            _check_detections(read, query)
        case ClassScores() if read.logits.shape != (len(read.labels),):
            raise ValueError(f"gave {len(read.logits)} logits for {len(read.labels)} labels")
        case LikelihoodTerms():
            _check_terms(read, query)


def _check_terms(read: LikelihoodTerms, query: Query) -> None:
    if not read.terms:
        raise ValueError("gave no terms")
    for term, array in read.terms.items():
        if np.isinf(array).any() or np.isnan(array).all():
            raise ValueError(f"gave terms {term!r} that are not numbers")
        if array.shape[-1:] != (len(query.texts),):
            raise ValueError(f"gave terms {term!r} of shape {array.shape} for {len(query.texts)} captions")


def _check_detections(read: Detections, query: Query) -> None:
    n = len(read.scores)
    shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
        "scores": (read.scores, (n,)),
        "boxes": (read.boxes, (n, 4)),
        "classes": (read.classes, (n,)),
    }
    if read.class_probs is not None:
        shapes["class_probs"] = (read.class_probs, (n, len(read.labels)))
    if read.colours is not None:
        shapes["colours"] = (read.colours, (n, len(read.colour_names)))
    for name, (array, want) in shapes.items():
        if array.shape != want:
            raise ValueError(f"gave {name} of shape {array.shape} for {n} detections, want {want}")
    if n and not (read.classes.min() >= 0 and read.classes.max() < len(read.labels)):
        worst = min(read.classes.min(), 0) or read.classes.max()
        raise ValueError(f"gave a class {int(worst)} of {len(read.labels)} labels")
    if isinstance(read, Segments) and len(read.masks) != n:
        raise ValueError(f"gave {len(read.masks)} masks for {n} detections")
    if query.images and read.size != (size := query.images[0].pixels.shape[1::-1]):
        raise ValueError(f"gave a size of {_by(read.size)} pixels for an image of {_by(size)}")
    _check_boxes(read)
    _check_probabilities("scores", read.scores)
    for name in ("class_probs", "colours"):
        if (array := getattr(read, name)) is not None:
            _check_probabilities(name, array)
            if n and array.sum(axis=1).max() > 1 + ROUNDING:
                raise ValueError(f"gave {name} whose sum is {array.sum(axis=1).max():.3g}, more than 1")


def _check_boxes(read: Detections) -> None:
    x0, y0, x1, y1 = read.boxes.T
    width, height = read.size
    outside = (x0 < -OVERHANG) | (y0 < -OVERHANG) | (x1 > width + OVERHANG) | (y1 > height + OVERHANG)
    if (wrong := outside | (x1 < x0) | (y1 < y0)).any():
        box = ", ".join(f"{side:.4g}" for side in read.boxes[np.argmax(wrong)])
        raise ValueError(f"gave a box ({box}), want x0 <= x1 and y0 <= y1 within the {_by(read.size)} pixels")


def _check_probabilities(name: str, array: NDArray[Any]) -> None:
    if array.size and not (array.min() >= -ROUNDING and array.max() <= 1 + ROUNDING):
        raise ValueError(f"gave {name} from {array.min():.3g} to {array.max():.3g}, want 0 to 1")


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
