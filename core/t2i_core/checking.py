"""Whether an observation is what it claims to be, before it is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .judging import Capability
from .observations import TYPES, ClassScores, Detections, Labels, LikelihoodTerms, Segments


def stored_form(answer: Any, capability: Capability, labels: Labels | None) -> bytes:
    """Return the bytes under which an answer is kept, checked as they will be read.

    labels: the classes that the judge declares; None where it takes any text.
    Raises ValueError or TypeError, saying what is wrong: another type, other labels than declared, values that are
    not numbers, arrays that do not fit each other.
    """
    kind = TYPES[capability]
    if not isinstance(answer, kind):
        raise TypeError(f"gave {type(answer).__name__} where {kind.__name__} was asked for")
    if labels is not None and getattr(answer, "labels", labels) != labels:
        raise ValueError("answered with other labels than it declares")
    value: bytes = answer.to_bytes(labels)
    _check(kind.from_bytes(value, labels))
    return value


def _check(read: Any) -> None:
    for name in read.__dataclass_fields__:
        value = getattr(read, name)
        if isinstance(read, LikelihoodTerms) and name == "terms":
            for term, array in value.items():
                if np.isinf(array).any() or np.isnan(array).all():
                    raise ValueError(f"gave terms {term!r} that are not numbers")
        elif isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
            raise ValueError(f"gave {name} that are not numbers")
    if isinstance(read, Detections):
        _check_detections(read)
    if isinstance(read, ClassScores) and read.logits.shape != (len(read.labels),):
        raise ValueError(f"gave {len(read.logits)} logits for {len(read.labels)} labels")


def _check_detections(read: Detections) -> None:
    n = len(read.scores)
    shapes: dict[str, tuple[NDArray[Any], tuple[int, ...]]] = {
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
        raise ValueError(f"gave a class {int(read.classes.max())} of {len(read.labels)} labels")
    if isinstance(read, Segments) and len(read.masks) != n:
        raise ValueError(f"gave {len(read.masks)} masks for {n} detections")
