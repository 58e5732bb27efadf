"""The bytes under which observations are kept: all of them are written and read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .judge import Query
from .observation import Labels, Observation, StackableObservation, find_capability
from .redaction import redact


def encode(answer: Any, capability: str, labels: Labels | None, query: Query) -> bytes:
    """Return the bytes under which an answer is kept, checked as they will be read.

    Args:
        answer: What the judge gave.
        capability: What it was asked for.
        labels: The classes that the judge declares; None if it takes any text.
        query: What was asked: boxes and masks must be of its image, terms of its captions.

    Raises:
        TypeError: If the answer, or a field, is of another type.
        ValueError: If its labels are not those declared, if numbers are not finite or out of their range, or if
            fields do not fit each other or the query.
    """
    cls = find_capability(capability)
    if not isinstance(answer, cls):
        raise TypeError(f"gave {type(answer).__name__} where {cls.__name__} was asked for")
    if labels is not None and getattr(answer, "labels", labels) != labels:
        raise ValueError("answered with other labels than it declares")
    answer.check_fields()
    data = _redacted(answer).to_bytes(labels)
    kept = decode(data, capability, labels)
    _check_finite(kept)
    kept.check(query)
    return data


def decode(data: bytes, capability: str, labels: Labels | None) -> Observation:
    """Read what `encode` wrote."""
    return find_capability(capability).from_bytes(data, labels)


def decode_stacked(data: Sequence[bytes], capability: str, labels: Labels | None) -> StackableObservation:
    """Read several answers as one observation. Raises ValueError if they do not fit each other."""
    cls = find_capability(capability)
    assert issubclass(cls, StackableObservation)
    return cls.stacked(data, labels)


def _redacted(answer: Observation) -> Observation:
    """Return an answer with its texts (a judge's words) redacted."""
    texts = {f.name: getattr(answer, f.name) for f in fields(answer)}  # type: ignore[arg-type]
    redacted = {name: redact(text) for name, text in texts.items() if isinstance(text, str)}
    return replace(answer, **redacted) if redacted else answer  # type: ignore[type-var]


def _check_finite(kept: Observation) -> None:
    for field in fields(kept):  # type: ignore[arg-type]
        value = getattr(kept, field.name)
        if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
            raise ValueError(f"gave {field.name} that are not numbers")
