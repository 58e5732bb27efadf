"""The differences of two models as a table for a paper."""

from __future__ import annotations

from t2i_core.api.text import escape_control_characters
from t2i_core.results.metric_comparison import MetricComparison
from t2i_core.results.number_format import format_p_value

from ..compare import ModelComparison
from .table import PaperCell, PaperNote, PaperTable, format_decimals


def make_difference_table(found: ModelComparison) -> PaperTable:
    """Return a table with a row for each metric: the difference with its interval, p and the number of samples."""
    names = [escape_control_characters(side.name) for side in (found.a, found.b)]
    caption = (
        f"Differences {names[0]} − {names[1]} with 95 % confidence intervals, paired on the samples that both "
        "have. The p-values are not adjusted for their number."
    )
    rows = [(_write_title(pair), _write_cells(pair)) for pair in found.pairs]
    notes = [
        PaperNote(escape_control_characters(pair.metric), _describe(pair), find_signature(found, pair))
        for pair in found.pairs
    ]
    notes += [
        PaperNote(escape_control_characters(metric), escape_control_characters(f"not compared: {why}."))
        for metric, why in found.left_out
    ]
    return PaperTable(caption, ["metric", "difference", "p", "n"], rows, notes)


def _write_title(pair: MetricComparison) -> str:
    arrow = {True: " ↑", False: " ↓", None: ""}[pair.measure.higher_is_better]
    return f"{escape_control_characters(pair.metric)}{arrow}"


def _write_cells(pair: MetricComparison) -> list[PaperCell]:
    difference = pair.found
    assert difference is not None
    low, high = format_decimals(difference.lo), format_decimals(difference.hi)
    interval = "" if difference.lo != difference.lo else f"[{low}, {high}]"
    p = None if difference.p != difference.p else difference.p
    return [
        PaperCell(format_decimals(difference.diff), interval),
        PaperCell(format_p_value(p).replace("-", "–")),
        PaperCell(str(difference.n)),
    ]


def _describe(pair: MetricComparison) -> str:
    assert pair.found is not None
    text = "; ".join([f"interval for {pair.found.question} ({pair.found.method})", *pair.found.notes])
    return f"{escape_control_characters(text)}."


def find_signature(found: ModelComparison, pair: MetricComparison) -> str | None:
    """Return the signature line that both results have; None if they have none, or different ones."""
    lines = {
        result.signature
        for side in (found.a, found.b)
        for result in side.run.results
        if result.label == side.label and result.title == pair.metric
    }
    return lines.pop() if len(lines) == 1 else None
