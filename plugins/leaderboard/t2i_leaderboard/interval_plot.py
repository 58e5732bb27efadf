"""Coordinates of small plots: intervals beside each other, and scores over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from t2i_core.results.result import Result

WIDTH = 160
HISTORY_WIDTH, HISTORY_HEIGHT = 480, 120

_EDGE = 6
"""Space at the edges of plots, for the dots."""


@dataclass(frozen=True)
class PlottedInterval:
    """A score with its interval, in units of the plot.

    Attributes:
        low: Left end; None without an interval.
        value: The score.
        high: Right end; None without an interval.
    """

    low: float | None
    value: float
    high: float | None


@dataclass(frozen=True)
class IntervalPlot:
    """Intervals of several models on one scale.

    Attributes:
        start: The score at the left edge.
        end: The score at the right edge.
        intervals: The intervals in the order of the results; None without a score.
    """

    start: float
    end: float
    intervals: Sequence[PlottedInterval | None]


@dataclass(frozen=True)
class HistoryPoint:
    """A score at a time, in units of the plot; `low` is the lower end of the interval, further down.

    Attributes:
        x: The time.
        interval: The score and its interval.
    """

    x: float
    interval: PlottedInterval


@dataclass(frozen=True)
class HistoryPlot:
    """The scores of one model over time.

    Attributes:
        points: The scores, the oldest first.
        start: The score at the lower edge.
        end: The score at the upper edge.
        first: The first day.
        last: The last day.
    """

    points: Sequence[HistoryPoint]
    start: float
    end: float
    first: str
    last: str

    @property
    def line(self) -> str:
        """The points of the line that joins the scores, as SVG has them."""
        return " ".join(f"{point.x:.1f},{point.interval.value:.1f}" for point in self.points)


def plot_intervals(results: Sequence[Result]) -> IntervalPlot | None:
    """Return the intervals of results on one scale; None if no result has a score."""
    bounds = _find_bounds(results)
    if bounds is None:
        return None
    return IntervalPlot(*bounds, [_place(result, bounds, _EDGE, WIDTH - _EDGE) for result in results])


def plot_history(scores: Sequence[tuple[str, Result]]) -> HistoryPlot | None:
    """Return the scores of a model over time; None if there are fewer than two.

    Args:
        scores: The time at which each run started, and the score; the oldest first.
    """
    known = [(time, result) for text, result in scores if (time := _read_time(text)) is not None]
    bounds = _find_bounds([result for _, result in known])
    if bounds is None or len(known) < 2:
        return None
    begin, end = known[0][0], known[-1][0]
    span = (end - begin).total_seconds() or 1.0
    points = []
    for time, result in known:
        interval = _place(result, bounds, HISTORY_HEIGHT - _EDGE, _EDGE)
        if interval is not None:
            x = _EDGE + (time - begin).total_seconds() / span * (HISTORY_WIDTH - 2 * _EDGE)
            points.append(HistoryPoint(round(x, 1), interval))
    return HistoryPlot(points, *bounds, begin.date().isoformat(), end.date().isoformat())


def _read_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _find_bounds(results: Sequence[Result]) -> tuple[float, float] | None:
    ends = [end for result in results for end in (result.score, *(result.ci or ())) if end is not None]
    if not ends:
        return None
    start, end = min(ends), max(ends)
    pad = max(0.5, abs(start) * 1e-6)  # wide enough to change a large score
    return (start, end) if end > start else (start - pad, end + pad)


def _place(result: Result, bounds: tuple[float, float], left: float, right: float) -> PlottedInterval | None:
    if result.score is None:
        return None

    def place(value: float | None) -> float | None:
        share = None if value is None else (value - bounds[0]) / (bounds[1] - bounds[0])
        return None if share is None else round(left + share * (right - left), 1)

    value = place(result.score)
    low, high = map(place, result.ci or (None, None))
    return None if value is None else PlottedInterval(low, value, high)
