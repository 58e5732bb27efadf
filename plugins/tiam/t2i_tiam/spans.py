"""Text form of ranges of confidence thresholds in the table: `0-0.83`, or `0-0.2 0.4-0.83`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .rules import Span


def write_spans(spans: Sequence[Span]) -> str:
    """Return the text of ranges that exclude their lower and include their upper end.

    A range without a lower end starts at 0. Confidences are float32 and get as few digits as identify them: 0.3 is
    written as 0.3.
    """
    return " ".join(f"{_number(max(low, 0))}-{_number(high)}" for low, high in spans)


def read_spans(text: str) -> list[Span]:
    """Read the text that `write_spans` returned."""
    return [(float(low), float(high)) for low, _, high in (part.partition("-") for part in text.split())]


def _number(confidence: float) -> str:
    return np.format_float_positional(np.float32(confidence), trim="-")
