"""Corrected scores and differences as tables in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from ..api.terminal import make_table, shown
from .correction import Correction
from .number_format import format_interval, format_number, format_p_value
from .result import Comparison, Result, Score

MOST_LEVELS = 8
"""A facet with more corrected levels is not shown; run.json has them."""


def make_correction_tables(
    results: Sequence[Result], comparisons: Sequence[Comparison]
) -> Iterator[RenderableType]:
    """Yield tables of the corrected scores and differences, if there are any, and notes on them."""
    corrected = [each for each in results if each.correction is not None]
    if not corrected:
        return
    yield ""
    yield _make_score_table(corrected)
    differences = [each for each in comparisons if each.correction is not None]
    if differences:
        yield _make_difference_table(differences)
    for note in dict.fromkeys([*_list_notes(corrected), *_list_difference_notes(differences)]):
        yield shown(f"note: {note}")


def _make_score_table(results: Sequence[Result]) -> Table:
    table = make_table(
        *("metric", "model", "score", "judge", "labels", "95 % interval", "corrected", "95 % interval"),
        *("labels", "gain"),
        title="corrected by people",
    )
    for each in results:
        for name, score in _list_scores(each):
            if (own := score.correction) is not None:
                row = [each.title, each.label, name, format_number(score.value), *_format(own)]
                table.add_row(*map(shown, row))
    return table


def _list_scores(result: Result) -> Iterator[tuple[str, Score]]:
    """Yield the named scores, and the levels of facets that are corrected."""
    yield from result.scores.items()
    for measure, facets in result.facets.items():
        for facet, levels in facets.items():
            corrected = [(level, score) for level, score in levels.items() if score.correction is not None]
            if len(levels) > 1 and len(corrected) <= MOST_LEVELS:
                yield from ((f"{measure}, {facet} {level}", score) for level, score in corrected)


def _format(own: Correction) -> list[str]:
    return [
        *(format_number(own.labels.value), format_interval(own.labels.ci)),
        *(format_number(own.value), format_interval(own.ci)),
        *(str(own.n_labels), format_gain(own)),
    ]


def format_gain(correction: Correction) -> str:
    """Format the gain of a correction: how many labels one label with the judge is worth."""
    return "-" if correction.value is None or correction.gain is None else f"x {correction.gain:.1f}"


def _make_difference_table(comparisons: Sequence[Comparison]) -> Table:
    table = make_table(
        *("metric", "a", "b", "a - b", "labels", "95 % interval", "corrected", "95 % interval", "labels", "gain"),
        "p (Holm)",
        title="corrected comparisons",
    )
    for each in comparisons:
        if (own := each.correction) is not None:
            row = [each.title, each.a, each.b, format_number(each.diff), *_format(own)]
            table.add_row(*map(shown, [*row, format_p_value(own.p_adjusted)]))
    return table


def _list_notes(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if (own := each.correction) is not None:
            where = f"{each.title}, {each.label}"
            if own.reason:
                yield f"{where}: not corrected, {own.reason}{_tell_labels(own)}"
            yield from (f"{where}: {note}" for note in own.notes)


def _list_difference_notes(comparisons: Sequence[Comparison]) -> Iterator[str]:
    for each in comparisons:
        if (own := each.correction) is not None:
            where = f"{each.title}, {each.a} - {each.b}"
            if own.reason:
                yield f"{where}: not corrected, {own.reason}{_tell_labels(own)}"
            yield from (f"{where}: {note}" for note in own.notes)


def _tell_labels(own: Correction) -> str:
    return "; the labels' own score stands" if own.labels.value is not None else ""
