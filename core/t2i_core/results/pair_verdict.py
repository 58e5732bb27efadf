"""Verdict on two models under one metric, as data from which every sentence about them is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .number_format import format_interval, format_number
from .result import Comparison

LEVEL = 0.05
"""A difference is sure if its p-value, adjusted for the number of comparisons, is below this."""

VerdictKind = Literal["better", "higher", "close", "open", "none"]


@dataclass(frozen=True)
class PairVerdict:
    """The verdict on two models under one metric.

    Attributes:
        kind: `better` (the first model is surely better); `higher` (it surely scores higher, and neither is
            better); `close` (a run that stopped early found that they differ by less than its margin); `open` (no
            sure difference); `none` (no comparison).
        first: The model that is named first; the better one of `better`.
        second: The other model.
        comparison: The comparison; None for `none`.
    """

    kind: VerdictKind
    first: str
    second: str
    comparison: Comparison | None = None

    @property
    def is_sure(self) -> bool:
        """True if a difference is sure."""
        return self.kind in ("better", "higher")

    @property
    def difference(self) -> str:
        """Score of the first model minus that of the second, with its interval; of a sure one, its size."""
        found = self.comparison
        if found is None or found.diff is None:
            return ""
        return self.size if self.is_sure else f"{format_number(found.diff)} {format_interval(found.ci)}"

    @property
    def size(self) -> str:
        """The size of the difference, with its interval in the direction in which it is positive."""
        found = self.comparison
        if found is None or found.diff is None:
            return ""
        low, high = found.ci
        if found.diff < 0:
            low, high = (None if high is None else -high), (None if low is None else -low)
        return f"{format_number(abs(found.diff))} {format_interval((low, high))}"


def is_sure(comparison: Comparison) -> bool:
    """Return whether a difference is significant after the adjustment for the number of comparisons."""
    return comparison.p_adjusted is not None and comparison.p_adjusted < LEVEL


def find_verdict(comparisons: Iterable[Comparison], a: str, b: str, higher_is_better: bool | None) -> PairVerdict:
    """Return the verdict on two models.

    Args:
        comparisons: The comparisons of one metric, by one panel of judges.
        a: Label of the first model.
        b: Label of the second model.
        higher_is_better: Direction of the metric; None if it has none.
    """
    found = next((each for each in comparisons if {each.a, each.b} == {a, b}), None)
    if found is None or found.diff is None:
        return PairVerdict("none", a, b)
    if found.stopped is not None and found.stopped.decision == "close":
        return PairVerdict("close", found.a, found.b, found)
    if not is_sure(found) or found.diff == 0:
        return PairVerdict("open", found.a, found.b, found)
    higher, lower = (found.a, found.b) if found.diff > 0 else (found.b, found.a)
    if higher_is_better is None:
        return PairVerdict("higher", higher, lower, found)
    better, worse = (higher, lower) if higher_is_better else (lower, higher)
    return PairVerdict("better", better, worse, found)
