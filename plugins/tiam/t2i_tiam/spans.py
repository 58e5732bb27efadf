"""The confidences at which an image is right, as they stand in the table: `0-0.83`, or `0-0.2 0.4-0.83`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .rules import Span


def write_spans(spans: Sequence[Span]) -> str:
    """Write spans, each above its first number up to and with its second; `0` where there is no lower end.

    Confidences are float32, written with as many digits as tell them apart: 0.3 is 0.3 again.
    """
    return " ".join(f"{_number(max(low, 0))}-{_number(high)}" for low, high in spans)


def read_spans(text: str) -> list[Span]:
    """Read what `write_spans` wrote."""
    return [(float(low), float(high)) for low, _, high in (part.partition("-") for part in text.split())]


def _number(confidence: float) -> str:
    return np.format_float_positional(np.float32(confidence), trim="-")
