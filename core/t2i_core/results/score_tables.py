"""Scores as tables of a terminal. A command that prints them depends on rich itself: core does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..api.terminal import make_table, shown
from .number_format import format_interval, format_number, format_p_value

MOST_LEVELS = 8
"""A facet with more levels is shown by its lowest and highest."""


def print_results(console: Console, results: Mapping[str, Any]) -> None:
    """Show scores with intervals, named scores, facets, and comparisons of models."""
    found = results["results"]
    if found:
        console.print(_scores(found))
        for part in _details(found):
            console.print(part)
    if results["comparisons"]:
        console.print(_comparisons(results["comparisons"]))
    notes = dict.fromkeys(note for each in found for note in each.get("notes", ()))
    for line in _method_lines(found):
        console.print(shown(line, "dim"))
    for note in notes:
        console.print(shown(f"note: {note}"))


def _cells(*values: object) -> Iterator[Text]:
    return map(shown, values)


def _scores(results: Sequence[Mapping[str, Any]]) -> Table:
    bounded = any(each.get("upper_bound") for each in results)
    left_out = any(each["n_excluded"] for each in results)
    beside = ["upper bound"] if bounded else []
    counts = ["ok", "failed", "missing", *(["excluded"] if left_out else [])]
    table = make_table("metric", "model", "score", "95 % interval", *beside, "prompts", *counts, "judge")
    for each in results:
        bound = [format_number(each["upper_bound"]["value"]) if each["upper_bound"] else "-"] if bounded else []
        table.add_row(
            *_cells(
                each["metric"],
                each["as"],
                format_number(each["score"]),
                format_interval(each["ci"]),
                *bound,
                f"{each['prompts']} ({_prompts(each)})",
                each["n_ok"],
            ),
            _alarming(each["n_failed"]),
            _alarming(each["n_missing"]),
            *([shown(each["n_excluded"])] if left_out else []),
            shown(each["judge"]["name"] if each["judge"] else "-"),
        )
    return table


def _prompts(result: Mapping[str, Any]) -> str:
    """How many prompts were asked for, and how many of them have a value where some have none."""
    asked, ok = result["n_prompts"], result.get("n_prompts_ok", result["n_prompts"])
    return f"{asked}" if ok == asked else f"{ok} of {asked}"


def _alarming(count: int) -> Text:
    return shown(count, "red" if count else "")


def _details(results: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Named scores where there are several, and facets."""
    named = make_table("metric", "model", "name", "score", "95 % interval", title="by name")
    facets = make_table("metric", "model", "by", "level", "score", "95 % interval", title="by facet")
    for each in results:
        who = each["metric"], each["as"]
        if len(each["scores"]) > 1:
            for name, score in each["scores"].items():
                named.add_row(*_cells(*who, name, *_with_interval(score)))
        for measure, by_facet in each["facets"].items():
            for facet, levels in by_facet.items():
                place = facet if len(each["facets"]) == 1 else f"{measure} by {facet}"
                for level, score in _few(levels):
                    facets.add_row(*_cells(*who, place, level, *_with_interval(score)))
    for table in (named, facets):
        if table.row_count:
            yield ""
            yield table


def _with_interval(score: Mapping[str, Any]) -> tuple[str, str]:
    """Write a score and its interval."""
    return format_number(score["value"]), format_interval(score["ci"])


def _few(levels: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All levels, or the lowest and the highest of many."""
    if len(levels) <= MOST_LEVELS:
        yield from levels.items()
        return
    ranked = sorted((item for item in levels.items() if item[1]["value"] is not None), key=lambda i: i[1]["value"])
    for word, (level, score) in zip(("lowest", "highest"), (ranked[0], ranked[-1]), strict=True):
        yield f"{word} of {len(levels)}: {level}", score


def _comparisons(comparisons: Sequence[Mapping[str, Any]]) -> Table:
    table = make_table("metric", "a", "b", "a - b", "95 % interval", "p", "n", title="paired comparisons")
    for each in comparisons:
        table.add_row(
            *_cells(
                each["metric"],
                each["a"],
                each["b"],
                format_number(each["diff"]),
                format_interval(each["ci"]),
                format_p_value(each["p"]),
                each["n"],
            )
        )
    return table


def _method_lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How the intervals were made: what they answer and by which method."""
    methods: dict[str, dict[str, None]] = {}
    for each in results:
        if each["interval"]:
            methods.setdefault(each["interval"], {})[each["metric"]] = None
    for method, metrics in methods.items():
        yield f"interval of {', '.join(metrics)}: {method}"
