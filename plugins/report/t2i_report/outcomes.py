"""Outcomes of comparisons, as data that titles and sentences share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from t2i_core.results.number_format import format_interval, format_number
from t2i_core.results.result import Comparison
from t2i_core.results.verdict import is_sure

from .metric_results import MetricResults

Kind = Literal["better", "higher", "close", "open", "none"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a comparison under one metric.

    Attributes:
        kind: `better` (the first model is surely better); `higher` (it surely scores higher, and neither is
            better); `close` (a run that stopped early found that they differ by less than its margin); `open` (no
            sure difference); `none` (no comparison).
        first: The model that is named first; the better one of `better`.
        second: The other model.
        size: Score of the first model minus that of the second, in words with its interval; of `better`, by how
            much it is better.
        comparison: The comparison; None for `none`.
    """

    kind: Kind
    first: str
    second: str
    size: str = ""
    comparison: Comparison | None = None


def find_outcome(group: MetricResults, a: str, b: str) -> Outcome:
    """Return the outcome of two models under a metric."""
    found = next((each for each in group.comparisons if {each.a, each.b} == {a, b}), None)
    if found is None or found.diff is None:
        return Outcome("none", a, b)
    if found.stopped is not None and found.stopped.decision == "close":
        return Outcome("close", found.a, found.b, _size(found), found)
    if not is_sure(found) or found.diff == 0:
        return Outcome("open", found.a, found.b, _size(found), found)
    higher, lower = (found.a, found.b) if found.diff > 0 else (found.b, found.a)
    size = _size(found, abs(found.diff))
    if group.higher_is_better is None:
        return Outcome("higher", higher, lower, size, found)
    better, worse = (higher, lower) if group.higher_is_better else (lower, higher)
    return Outcome("better", better, worse, size, found)


def _size(comparison: Comparison, value: float | None = None) -> str:
    """Return a difference with its interval, turned where `value` is the size of a negative difference."""
    low, high = comparison.ci
    if value is not None and comparison.diff is not None and comparison.diff < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    return f"{format_number(comparison.diff if value is None else value)} {format_interval((low, high))}"
