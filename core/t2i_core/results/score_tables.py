"""Scores as tables in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..api.terminal import make_table, shown
from ..api.text import shorten_paths
from .correction_tables import make_correction_tables
from .look_text import list_columns, list_rows
from .looks import StoppingRecord
from .number_format import format_interval, format_number, format_p_value
from .result import Comparison, JudgeAgreement, Result, Score
from .verdict import describe_verdicts

if TYPE_CHECKING:
    from .run import Run

MOST_LEVELS = 8
"""A facet with more levels is shown by its lowest and highest."""

MOST_NAMES = 12
MOST_COMPARISONS = 10
"""Rows of named scores and of comparisons that are shown without `every`."""


def print_run(console: Console, run: Run) -> None:
    """Print the scores of a run, its folder, and why it failed or has no scores yet."""
    print_results(console, run.results, run.comparisons, run.agreements)
    print_looks(console, run.manifest.stopping)
    for line in (run.partial, run.failed):
        if line:
            console.print(shown(line, "bold"))
    console.print(shown(f"folder: {run.path}"))


def print_results(
    console: Console,
    results: Sequence[Result],
    comparisons: Sequence[Comparison],
    agreements: Sequence[JudgeAgreement] = (),
    *,
    every: bool = True,
) -> None:
    """Print scores with intervals, comparisons of models, agreement of judges, and the verdict in words.

    Args:
        console: Where to print.
        results: The results of a run.
        comparisons: Its comparisons.
        agreements: The agreement of its judges.
        every: Print facets, and all named scores and comparisons; otherwise one line tells what is left out.
    """
    named, facets = _make_detail_tables(results)
    left_out = [] if every or not facets.row_count else [f"{facets.row_count} scores by facet"]
    if results:
        console.print(_make_score_table(results))
    if named.row_count and (every or named.row_count <= MOST_NAMES):
        console.print("", named, sep="\n")
    elif named.row_count:
        left_out.append(f"{named.row_count} scores by name")
    if facets.row_count and every:
        console.print("", facets, sep="\n")
    if comparisons:
        shown_now = comparisons if every else comparisons[:MOST_COMPARISONS]
        console.print(_make_comparison_table(shown_now))
        if hidden := len(comparisons) - len(shown_now):
            left_out.append(f"{hidden} comparisons")
    if agreements:
        console.print(_make_agreement_table(agreements))
    for part in make_correction_tables(results, comparisons):
        console.print(part)
    notes = dict.fromkeys(note for each in results for note in each.notes)
    for line in _describe_methods(results):
        console.print(shown(line, "dim"))
    for note in notes:
        console.print(shown(f"note: {note}"))
    if left_out:
        console.print(shown(f"not shown: {', '.join(left_out)} (--facets, or t2i runs show RUN)", "dim"))
    for verdict in describe_verdicts(results, comparisons):
        console.print(shown(verdict, "bold"))


def print_looks(console: Console, stopping: StoppingRecord | None, *, every: bool = True) -> None:
    """Print the looks of a run that stops early, and its verdict.

    Args:
        console: Where to print.
        stopping: The looks; None if the run does not stop early.
        every: Print the looks; otherwise the verdict alone.
    """
    if stopping is None:
        return
    if every and stopping.looks:
        table = make_table(*list_columns(stopping), title="looks")
        for number in range(1, len(stopping.looks) + 1):
            for row in list_rows(stopping, number):
                table.add_row(*_make_cells(*row))
        console.print(table)
    if stopping.verdict is not None:
        console.print(shown(stopping.verdict, "bold"))


def _make_cells(*values: object) -> Iterator[Text]:
    return map(shown, values)


def _make_score_table(results: Sequence[Result]) -> Table:
    bounded = any(each.upper_bound for each in results)
    left_out = any(each.n_excluded for each in results)
    bounds = ["upper bound"] if bounded else []
    counts = ["ok", "failed", "missing", *(["excluded"] if left_out else [])]
    table = make_table("metric", "model", "score", "95 % interval", *bounds, "prompts", *counts, "judge")
    for each in results:
        bound = [format_number(each.upper_bound.value) if each.upper_bound else "-"] if bounded else []
        table.add_row(
            *_make_cells(
                each.headline,
                each.label,
                format_number(each.score),
                format_interval(each.ci),
                *bound,
                f"{shorten_paths(each.prompts)} ({_format_prompts(each)})",
                each.n_ok,
            ),
            _format_count(each.n_failed),
            _format_count(each.n_missing),
            *([shown(each.n_excluded)] if left_out else []),
            shown(each.judge.name if each.judge else "-"),
        )
    return table


def _format_prompts(result: Result) -> str:
    """Return the number of requested prompts, with the number that have a value if some have none."""
    asked, ok = result.n_prompts, result.n_prompts_ok
    return f"{asked}" if ok == asked else f"{ok} of {asked}"


def _format_count(count: int) -> Text:
    return shown(count, "red" if count else "")


def _make_detail_tables(results: Sequence[Result]) -> tuple[Table, Table]:
    """Return the tables of named scores, if there are several, and of facets; they may be empty."""
    named = make_table("metric", "model", "name", "score", "95 % interval", title="by name")
    facets = make_table("metric", "model", "by", "level", "score", "95 % interval", title="by facet")
    for each in results:
        who = each.title, each.label
        if len(each.scores) > 1:
            for name, score in each.scores.items():
                named.add_row(*_make_cells(*who, name, *_format_score(score)))
        for measure, by_facet in each.facets.items():
            for facet, levels in by_facet.items():
                place = facet if len(each.facets) == 1 else f"{measure} by {facet}"
                for level, score in _select_levels(levels):
                    facets.add_row(*_make_cells(*who, place, level, *_format_score(score)))
    return named, facets


def _format_score(score: Score) -> tuple[str, str]:
    """Format a score and its interval."""
    return format_number(score.value), format_interval(score.ci)


def _select_levels(levels: Mapping[str, Score]) -> Iterator[tuple[str, Score]]:
    """Yield all levels, or the lowest and the highest of many."""
    if len(levels) <= MOST_LEVELS:
        yield from levels.items()
        return
    values = {level: score.value for level, score in levels.items() if score.value is not None}
    ranked = [(level, levels[level]) for level in sorted(values, key=values.__getitem__)]
    for word, (level, score) in zip(("lowest", "highest"), (ranked[0], ranked[-1]), strict=True):
        yield f"{word} of {len(levels)}: {level}", score


def _make_comparison_table(comparisons: Sequence[Comparison]) -> Table:
    table = make_table("metric", "a", "b", "a - b", "95 % interval", "p (Holm)", "n", title="paired comparisons")
    for each in comparisons:
        table.add_row(
            *_make_cells(
                each.title,
                each.a,
                each.b,
                format_number(each.diff),
                format_interval(each.ci),
                format_p_value(each.p_adjusted),
                each.n,
            )
        )
    return table


def _make_agreement_table(agreements: Sequence[JudgeAgreement]) -> Table:
    columns = ("metric", "a", "b", "equal", "coefficient", "95 % interval", "n")
    table = make_table(*columns, title="agreement of judges")
    for each in agreements:
        table.add_row(
            *_make_cells(
                each.metric,
                each.a,
                each.b,
                format_number(each.equal),
                f"{each.coefficient} {format_number(each.value)}",
                format_interval(each.ci),
                each.n,
            )
        )
    return table


def _describe_methods(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line about the question and method of each kind of interval."""
    methods: dict[str, dict[str, None]] = {}
    for each in results:
        if each.interval:
            methods.setdefault(each.interval, {})[each.title] = None
    for method, metrics in methods.items():
        yield f"interval of {', '.join(metrics)}: {method}"
