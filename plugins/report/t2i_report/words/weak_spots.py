"""Levels at which a model scores lowest: named scores and levels of facets that share the headline's scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from t2i_core.results.pair_verdict import LEVEL
from t2i_core.results.result import Result, Score

from ..metric_results import MetricResults
from .level_tests import adjust, compare_with_others

_PROMPT = "prompt"
_NEVER = frozenset({"seed", _PROMPT})
"""Facets that say little about what a model cannot do: they are not kinds of prompts."""


@dataclass(frozen=True)
class Level:
    """One level of a facet, or a named score.

    Attributes:
        measure: Name of the measure.
        facet: Name of the facet; empty for a named score.
        level: The level; empty for a named score.
        is_headline: False if a facet's measure is not the headline.
    """

    measure: str
    facet: str = ""
    level: str = ""
    is_headline: bool = True

    @property
    def family(self) -> tuple[str, str]:
        """Measure and facet, which its other levels share; all tasks are one family."""
        return (self.measure, self.facet) if self.facet else ("", "")

    @property
    def name(self) -> str:
        """The level in words: `two object`, `class: giraffe`, or, of another measure, `class: giraffe (found)`."""
        measure = self.measure.replace("_", " ")
        if not self.facet:
            return measure
        place = f"{self.facet.replace('_', ' ')}: {self.level}"
        return place if self.is_headline else f"{place} ({measure})"


@dataclass(frozen=True)
class WeakSpot:
    """The level at which a model scores lowest.

    Attributes:
        metric: Title of the metric.
        model: Label of the model.
        level: The level.
        score: The score of this level.
        is_clear: True if it is surely worse than the other levels of its facet on average.
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

    These are its tasks and the facets of its headline. If it has none, they are the facets of the first other
    measure that has some, and the prompts if there are no facets either.
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
    for measure in dict.fromkeys(name for each in group.scored for name in each.facets):
        if measure != next(iter(result.scores), "") and _shares_scale(group, measure):
            levels = [
                level
                for each in group.scored
                for level in _list_facets(each, measure, lambda facet: facet not in _NEVER)
            ]
            if levels:
                yield from (replace(level, is_headline=False) for level in levels)
                return


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

    Levels that are surely worse than the others of their facet come first, so that a level with few samples is not
    found by chance alone. They are tested against the mean of the others, adjusted for the number of levels.

    Returns:
        The level; None if the metric has no direction, or the model scores the same at all levels.
    """
    if group.higher_is_better is None:
        return None
    found: dict[Level, Score] = {}
    turned: dict[Level, Score] = {}
    for level in list_levels(group) if levels is None else levels:
        score = find_score(result, level)
        if score is not None and score.value is not None and None not in score.ci:
            found[level] = score
            turned[level] = score if group.higher_is_better else _turn(score)
    if len({score.value for score in found.values()}) < 2:
        return None
    sure = _find_sure(turned)
    level = min(found, key=lambda each: (each not in sure, turned[each].value, turned[each].ci[1]))
    return WeakSpot(group.title, result.label, level, found[level], level in sure)


def _turn(score: Score) -> Score:
    """Return the negative of a score, so that higher is better."""
    low, high = score.ci
    return Score(
        value=None if score.value is None else -score.value,
        ci=[None if high is None else -high, None if low is None else -low],
    )


def _find_sure(scores: Mapping[Level, Score]) -> set[Level]:
    """Return the levels that are surely lower than the others of their facet on average."""
    families: dict[tuple[str, str], list[Level]] = {}
    for level in scores:
        families.setdefault(level.family, []).append(level)
    levels = [level for family in families.values() for level in family]
    p_values = [
        p for family in families.values() for p in compare_with_others([scores[level] for level in family])
    ]
    return {level for level, p in zip(levels, adjust(p_values), strict=True) if p < LEVEL}


def list_weak_spots(groups: Iterable[MetricResults]) -> list[WeakSpot]:
    """Return the weak spot of each metric and model."""
    return [
        spot for group in groups for result in group.scored if (spot := find_weak_spot(group, result)) is not None
    ]
