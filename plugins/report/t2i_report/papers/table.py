"""A table for a paper: models by metrics, with intervals, the surely best in bold, and the protocol below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from t2i_core.api.resolver import Resolver, installed_resolver
from t2i_core.api.text import escape_control_characters, shorten_paths
from t2i_core.results.number_format import format_number
from t2i_core.results.pair_verdict import LEVEL
from t2i_core.results.result import Result, Score
from t2i_core.results.run import Run

from .columns import PaperColumn, choose_columns
from .groups import PaperGroup, collect_groups

Uncertainty = Literal["bounds", "half-width", "none"]


@dataclass(frozen=True)
class PaperCell:
    """A cell of a table.

    Attributes:
        value: The score.
        interval: Its interval, which is set smaller; empty if it is not shown.
        is_best: True if it is surely the best of its column.
    """

    value: str
    interval: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class PaperNote:
    """A note below a table.

    Attributes:
        title: What it is about.
        text: The note.
        signature: The signature line; None if results have different ones, or none.
    """

    title: str
    text: str
    signature: str | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table for a paper, not yet in a format.

    Attributes:
        caption: The caption.
        head: Titles of the columns, the first that of the names.
        rows: The name of each row with its cells.
        notes: Notes below the table.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[PaperCell]]]
    notes: Sequence[PaperNote]

    def _repr_markdown_(self) -> str:
        """Return the table in Markdown, for a notebook."""
        from .formats import format_paper_table

        return format_paper_table(self, "markdown")


def make_paper_table(
    runs: Sequence[Run],
    resolver: Resolver[Any] | None = None,
    columns: Sequence[str] = (),
    digits: int | None = None,
    uncertainty: Uncertainty = "bounds",
) -> PaperTable:
    """Return the scores of runs as a table: models by metrics.

    A score is bold only if its model is significantly better than every other model of the column, by paired
    comparisons adjusted for their number. Only headline scores are tested.

    Args:
        runs: The runs; a model that several of them have is one row.
        resolver: Finds the metrics. Default: the installed registry.
        columns: The columns, as `choose_columns` reads them.
        digits: Number of decimals; if None, that of every other output.
        uncertainty: What stands beside a score: the ends of its interval, half its width, or nothing.

    Raises:
        UnknownName: If there is no such column.
    """
    groups = collect_groups(runs, installed_resolver() if resolver is None else resolver)
    chosen = choose_columns(groups, columns)
    best = [column.group.find_best() if column.measure is None else None for column in chosen]
    models = dict.fromkeys(model for column in chosen for model in column.group.entries)
    rows = [
        (
            escape_control_characters(model),
            [
                _make_cell(column.find_score(model), digits, uncertainty, model == first)
                for column, first in zip(chosen, best, strict=True)
            ],
        )
        for model in models
    ]
    return PaperTable(
        _write_caption(chosen, best, uncertainty),
        ["model", *(_write_title(column) for column in chosen)],
        rows,
        [
            *_list_failed(runs),
            *(_write_note(group, own) for group in groups if (own := [c for c in chosen if c.group is group])),
        ],
    )


def _list_failed(runs: Sequence[Run]) -> Iterator[PaperNote]:
    """Yield a note for each run that failed, because its scores are those of the samples that have a value."""
    for run in runs:
        if run.failed is not None:
            why = run.failed.partition("; failures.csv says why")[0].rstrip(".")
            yield PaperNote(
                escape_control_characters(run.folder.name), escape_control_characters(f"the run failed: {why}.")
            )


def _write_title(column: PaperColumn) -> str:
    arrow = {True: " ↑", False: " ↓", None: ""}[column.higher_is_better]
    return f"{escape_control_characters(column.title)}{arrow}"


def _make_cell(score: Score | None, digits: int | None, uncertainty: Uncertainty, is_best: bool) -> PaperCell:
    if score is None or score.value is None:
        return PaperCell("–")
    value, (low, high) = format_decimals(score.value, digits), score.ci
    if uncertainty == "none" or low is None or high is None:
        return PaperCell(value, is_best=is_best)
    if uncertainty == "half-width":
        return PaperCell(value, f"± {format_decimals((high - low) / 2, digits)}", is_best)
    return PaperCell(value, f"[{format_decimals(low, digits)}, {format_decimals(high, digits)}]", is_best)


def format_decimals(value: float | None, digits: int | None = None) -> str:
    """Return a number with that many decimals and a real minus sign; `–` if it is None."""
    if value is None:
        return "–"
    text = format_number(value) if digits is None else f"{value:.{digits}f}"
    if text.startswith("-"):
        return text[1:] if not float(text) else f"−{text[1:]}"
    return text


def _write_caption(columns: Sequence[PaperColumn], best: Sequence[str | None], uncertainty: Uncertainty) -> str:
    beside = {
        "bounds": "Scores with 95 % confidence intervals.",
        "half-width": "Scores ± half the width of their 95 % confidence intervals.",
        "none": "Scores.",
    }[uncertainty]
    directions = {column.higher_is_better for column in columns}
    arrows = [f"{arrow} {word} is better" for arrow, word, is_shown in (
        ("↑", "higher", True in directions), ("↓", "lower", False in directions)
    ) if is_shown]  # fmt: skip
    return " ".join([beside, *([f"{', '.join(arrows)}."] if arrows else []), *_describe_bold(columns, best)])


def _describe_bold(columns: Sequence[PaperColumn], best: Sequence[str | None]) -> Iterator[str]:
    """Yield what bold means, and the columns with several models that were tested, if not all were."""
    several = [(each, first) for each, first in zip(columns, best, strict=True) if len(each.group.scored) > 1]
    tested = [each for each, first in several if first or (each.measure is None and each.group.is_tested)]
    if any(best):
        yield f"Bold: significantly better than every other model (paired comparison, Holm, p < {LEVEL})."
    elif tested:
        yield f"No model is significantly better than every other (paired comparison, Holm, p < {LEVEL})."
    elif several:
        yield "Differences between models are not tested."
    if tested and len(tested) < len(several):
        yield f"Tested: {', '.join(escape_control_characters(column.title) for column in tested)}."


def _write_note(group: PaperGroup, columns: Sequence[PaperColumn]) -> PaperNote:
    results = [each.result for each in group.entries.values()]
    first = results[0]
    judges = " + ".join(dict.fromkeys(judge.name for judge in first.judges))
    sizes = sorted({(result.n_prompts, result.n_seeds) for result in results})
    parts = [
        f"{shorten_paths(first.prompts)}, {' or '.join(f'{p} prompts x {s} seeds' for p, s in sizes)}",
        *([f"judge {judges}"] if judges else []),
        *_describe_intervals(results),
        *(_describe_correction(columns) if group.is_corrected else []),
        *_list_losses(group),
    ]
    text = escape_control_characters("; ".join(parts)).replace(" x ", " × ")
    signatures = {result.signature for result in results}
    return PaperNote(
        escape_control_characters(group.title), f"{text}.", signatures.pop() if len(signatures) == 1 else None
    )


def _describe_correction(columns: Sequence[PaperColumn]) -> Iterator[str]:
    """Yield which columns of a corrected metric are corrected: only the headline is."""
    judged = [each.title for each in columns if each.measure is not None]
    if len(judged) < len(columns):
        yield "corrected by people's labels"
    if judged:
        yield f"by the judge alone: {', '.join(judged)}"


def _describe_intervals(results: Sequence[Result]) -> Iterator[str]:
    """Yield what the intervals are for, with the methods that compute them."""
    methods: dict[str, dict[str, None]] = {}
    for result in results:
        if result.interval is not None:
            method, _, question = result.interval.rpartition("; ")
            methods.setdefault(question, {})[method] = None
    for question, own in methods.items():
        yield f"intervals for {question} ({'; '.join(own)})"


def _list_losses(group: PaperGroup) -> Iterator[str]:
    """Yield the samples without a value, of each model that has some."""
    for model, entry in group.entries.items():
        counts = {"failed": entry.result.n_failed, "missing": entry.result.n_missing}
        if lost := [
            f"{count} {'sample' if count == 1 else 'samples'} {what}" for what, count in counts.items() if count
        ]:
            yield f"{model}: {', '.join(lost)}"
