"""Levels at which a model scores lowest: named scores and levels of facets that share the headline's scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from t2i_core.results.result import Result, Score

from .metric_results import MetricResults

_PROMPT = "prompt"
_NEVER = frozenset({"seed", _PROMPT})
"""Facets that say little about what a model cannot do: they are not kinds of prompts."""


@dataclass(frozen=True)
class Level:
    """One level of a facet, or a score of its own name.

    Attributes:
        measure: Name of the measure.
        facet: Name of the facet; empty for a named score.
        level: The level; empty for a named score.
    """

    measure: str
    facet: str = ""
    level: str = ""

    @property
    def name(self) -> str:
        """The level in words: `two object`, or `class: giraffe`."""
        return f"{self.facet.replace('_', ' ')}: {self.level}" if self.facet else self.measure.replace("_", " ")


@dataclass(frozen=True)
class WeakSpot:
    """The level at which a model scores lowest.

    Attributes:
        metric: Title of the metric.
        model: Label of the model.
        level: The level.
        score: The score of this level.
        is_clear: True if its interval lies apart from that of the model's best level.
    """

    metric: str
    model: str
    level: Level
    score: Score
    is_clear: bool = False

    @property
    def width(self) -> float:
        """Width of the interval of its score."""
        low, high = self.score.ci
        return inf if low is None or high is None else high - low


def list_levels(group: MetricResults) -> list[Level]:
    """Return the levels of a metric that share the scale of its headline, in the order of the results.

    These are its tasks and the facets of its headline. If it has none, they are the facets of its other measures,
    and the prompts if there are no facets either.
    """
    for kinds in (_list_tasks, _list_headline_facets), (_list_other_facets,), (_list_prompts,):
        found = dict.fromkeys(level for kind in kinds for result in group.scored for level in kind(group, result))
        if found:
            return list(found)
    return []


def _list_tasks(group: MetricResults, result: Result) -> Iterator[Level]:
    for name in result.scores:
        if name in group.tasks and _shares_scale(group, name):
            yield Level(name)


def _list_headline_facets(group: MetricResults, result: Result) -> Iterator[Level]:
    head = next(iter(result.scores), "")
    yield from _list_facets(result, head, lambda facet: facet not in _NEVER)


def _list_other_facets(group: MetricResults, result: Result) -> Iterator[Level]:
    for measure in result.facets:
        if _shares_scale(group, measure):
            yield from _list_facets(result, measure, lambda facet: facet not in _NEVER)


def _list_prompts(group: MetricResults, result: Result) -> Iterator[Level]:
    head = next(iter(result.scores), "")
    yield from _list_facets(result, head, lambda facet: facet == _PROMPT)


def _list_facets(result: Result, measure: str, wanted: Callable[[str], bool]) -> Iterator[Level]:
    for facet, levels in result.facets.get(measure, {}).items():
        if wanted(facet) and len(levels) > 1:
            yield from (Level(measure, facet, level) for level in levels)


def _shares_scale(group: MetricResults, measure: str) -> bool:
    """Return whether values of a measure compare with those of the headline."""
    head, own = group.headline, group.find_measure(measure)
    if head is None or own is None:
        return False
    return (own.low, own.high, own.higher_is_better) == (head.low, head.high, head.higher_is_better)


def find_score(result: Result, level: Level) -> Score | None:
    """Return a result's score of a level; None if it has none."""
    if not level.facet:
        return result.scores.get(level.measure)
    return result.facets.get(level.measure, {}).get(level.facet, {}).get(level.level)


def find_weak_spot(group: MetricResults, result: Result, levels: Sequence[Level] | None = None) -> WeakSpot | None:
    """Return the level with the lowest score, or the highest if lower is better.

    Levels whose interval lies apart from that of the best level come first, so that a level with few samples is
    not found by chance alone.

    Returns:
        The level; None if the metric has no direction, or the model scores the same at all levels.
    """
    if group.higher_is_better is None:
        return None
    sign = 1 if group.higher_is_better else -1
    found: list[tuple[float, float, float, Level, Score]] = []
    for level in list_levels(group) if levels is None else levels:
        score = find_score(result, level)
        if score is None or score.value is None:
            continue
        bad, good = score.ci if group.higher_is_better else score.ci[::-1]
        if bad is not None and good is not None:
            found.append((sign * score.value, sign * bad, sign * good, level, score))
    if len({value for value, *_ in found}) < 2:
        return None
    best = max(bad for _, bad, *_ in found)
    _, _, end, level, score = min(found, key=lambda each: (each[2] >= best, each[0], each[2]))
    return WeakSpot(group.title, result.label, level, score, end < best)


def list_weak_spots(groups: Iterable[MetricResults]) -> list[WeakSpot]:
    """Return the weak spot of each metric and model."""
    return [
        spot for group in groups for result in group.scored if (spot := find_weak_spot(group, result)) is not None
    ]
