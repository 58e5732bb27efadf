"""The five answers at the top of a page: best model, weak spots, an example, the judge, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from t2i_core.results.number_format import format_interval, format_number, format_p_value

from ..citation import Citation
from ..judges import ReadJudge
from ..metric_results import MetricResults
from .weak_spots import Level, WeakSpot, list_weak_spots

MOST_LINES = 4
"""Maximum number of lines of an answer."""


@dataclass(frozen=True)
class BestLine:
    """The best model under one metric.

    Attributes:
        metric: The metric.
        who: The best model, or the models that may be best.
        detail: The size of the difference, or the score.
        is_sure: Whether that is sure; None if there is a single model.
    """

    metric: str
    who: str
    detail: str
    is_sure: bool | None


@dataclass(frozen=True)
class WorstLine:
    """A level at which models are weakest.

    Attributes:
        metric: The metric.
        models: The models in words.
        level: The level in words.
        scores: Its score with interval; of several models, the range of their scores.
        is_sure: Whether they are surely worse there than at the other levels of the facet.
    """

    metric: str
    models: str
    level: str
    scores: str
    is_sure: bool


@dataclass(frozen=True)
class PageAnswers:
    """The answers.

    Attributes:
        best: Which model is best, for each metric.
        worst: At what each model is weakest.
        spots: The same as data.
        judges: The judges.
        citation: The command and the signatures.
    """

    best: Sequence[BestLine]
    worst: Sequence[WorstLine]
    spots: Sequence[WeakSpot]
    judges: Sequence[ReadJudge]
    citation: Citation
    most: int = field(default=MOST_LINES)


def answer(groups: Sequence[MetricResults], judges: Sequence[ReadJudge], citation: Citation) -> PageAnswers:
    """Return the answers of results.

    Args:
        groups: The results by metric.
        judges: The judges.
        citation: How to repeat the run.
    """
    best = sorted((line for group in groups for line in _find_best(group)), key=lambda line: line.is_sure is False)
    spots = _order_by_model(list_weak_spots(groups))
    return PageAnswers(best, list(_list_worst(groups, spots)), spots, judges, citation)


def _list_worst(groups: Sequence[MetricResults], spots: Sequence[WeakSpot]) -> Iterator[WorstLine]:
    """Yield at what each model is weakest; the models that share a level are one line if they are many."""
    if len({spot.model for spot in spots}) <= MOST_LINES:
        for spot in spots:
            score = f"{format_number(spot.score.value)} {format_interval(spot.score.ci)}"
            yield WorstLine(spot.metric, spot.model, spot.level.name, score, spot.is_clear)
        return
    models = {group.title: group.models for group in groups}
    shared: dict[tuple[str, Level], list[WeakSpot]] = {}
    for spot in spots:
        shared.setdefault((spot.metric, spot.level), []).append(spot)
    for (metric, level), own in sorted(shared.items(), key=lambda each: -len(each[1])):
        who = own[0].model if len(own) == 1 else f"{len(own)} of {models[metric]}"
        values = sorted({spot.score.value for spot in own if spot.score.value is not None})
        span = " to ".join(map(format_number, dict.fromkeys((values[0], values[-1]))))
        yield WorstLine(metric, who, level.name, span, all(spot.is_clear for spot in own))


def _order_by_model(spots: Sequence[WeakSpot]) -> list[WeakSpot]:
    """Return the spots so that each model comes once before any comes again."""
    seen: dict[str, int] = {}
    turns: list[tuple[int, WeakSpot]] = []
    for spot in spots:
        seen[spot.model] = seen.get(spot.model, 0) + 1
        turns.append((seen[spot.model], spot))
    return [spot for _, spot in sorted(turns, key=lambda turn: turn[0])]


def _find_best(group: MetricResults) -> Iterator[BestLine]:
    results = group.scored
    if len(results) == 1:
        score = f"{format_number(results[0].score)} {format_interval(results[0].ci)}"
        yield BestLine(group.name, results[0].label, score, None)
    elif len(results) == 2:
        found = group.find_verdict(results[0].label, results[1].label)
        if found.comparison is None:
            yield BestLine(group.name, "not compared", "", False)
            return
        p = _write_p_value(found.comparison.p_adjusted)
        detail = f"{found.first} minus {found.second}: {found.difference}, {p}"
        if found.kind == "better":
            yield BestLine(group.name, found.first, f"by {found.difference}, {p}", True)
        elif found.kind == "higher":
            yield BestLine(group.name, f"{found.first} scores higher", detail, True)
        elif found.kind == "close":
            yield BestLine(group.name, "about equal", detail, True)
        else:
            yield BestLine(group.name, "undecided", detail, False)
    elif results:
        leading = [each for each in group.standings if each.first == 1]
        scores = ", ".join(f"{each.label} {format_number(each.score)}" for each in leading[:MOST_LINES])
        more = f" and {len(leading) - MOST_LINES} more" if len(leading) > MOST_LINES else ""
        is_best = group.standings[0].ranks == "1"
        if not any(each.diff is not None for each in group.comparisons):
            who = "not compared"
        elif len(leading) == len(results):
            who = "undecided"
        else:
            who = leading[0].label if len(leading) == 1 else f"{len(leading)} of {group.models} may be best"
        yield BestLine(group.name, who, f"{scores}{more}", is_best)


def _write_p_value(p: float | None) -> str:
    """Return a p-value in a sentence: `p 0.020`, `p < 0.001`."""
    return f"p {format_p_value(p).replace('<', '< ')}"
