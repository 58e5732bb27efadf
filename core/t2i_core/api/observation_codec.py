"""Encoding of observations as the bytes that the store keeps, with checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .judge import Query
from .observation import Labels, Observation, StackableObservation, find_capability
from .redaction import redact


def encode(answer: Any, capability: str, labels: Labels | None, query: Query) -> bytes:
    """Return the stored form of an answer, checked by reading it back.

    Args:
        answer: The judge's answer.
        capability: The requested capability.
        labels: The classes that the judge declares; None if it takes any text.
        query: The query, whose image boxes and masks must fit, and whose captions terms must fit.

    Raises:
        TypeError: If the answer or a field has the wrong type.
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
    """Return the observation that `encode` wrote."""
    return find_capability(capability).from_bytes(data, labels)


def decode_stacked(data: Sequence[bytes], capability: str, labels: Labels | None) -> StackableObservation:
    """Return several stored answers as one observation. Raises ValueError if they do not fit each other."""
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
