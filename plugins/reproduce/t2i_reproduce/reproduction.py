"""`t2i reproduce`: repeat the measurements of a paper's table, and print published next to measured values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadOption, BadRecipe, FailedRun
from t2i_core.api.terminal import console, make_table, print_json, shown
from t2i_core.files.slug import make_slug
from t2i_core.results.analysis import analyze_run, list_metrics
from t2i_core.results.number_format import format_interval, format_number

from .paper_table import Column, FromAnalysis, PaperTable, Side
from .table_list import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from t2i_core import ModelRequest, Request
    from t2i_core.api.command import Evaluator
    from t2i_core.api.resolver import Resolver
    from t2i_core.results.result import Result
    from t2i_core.results.run import Run

    _Wanted = tuple[str, Column, Request]

NOT_STORED = "t2i stores no published values of this table, so nothing is compared"
NO_PAPER = "mini: no paper has measured the models of the mini world, so nothing is compared"


@dataclass(frozen=True)
class Cell:
    """One value of a table.

    Attributes:
        row: Name of the row.
        column: Name of the column.
        published: Published value, if it is known.
        measured: Measured value, if there is one.
        ci: 95 % confidence interval of the measured value, if there is one.
        run: Folder of the run that measured it.
    """

    row: str
    column: str
    published: float | None
    measured: float | None = None
    ci: tuple[float | None, float | None] | None = None
    run: str | None = None

    @property
    def diff(self) -> float | None:
        """The measured minus the published value; None if one of them is missing."""
        return None if self.published is None or self.measured is None else self.measured - self.published

    def holds(self, decimals: int) -> bool | None:
        """True if the interval contains the published value, give or take half a unit of its last decimal."""
        if self.published is None or self.ci is None or self.ci[0] is None or self.ci[1] is None:
            return None
        room = 0.5 * 10.0**-decimals + 1e-9
        return self.ci[0] - room <= self.published <= self.ci[1] + room


def reproduce(
    evaluator: Evaluator,
    name: str,
    rows: Sequence[str],
    out: Path | None,
    mini: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run a table or its version for the mini world, and print it.

    Args:
        evaluator: Runs evaluations.
        name: Name of a table, or a file.
        rows: Names of the rows to run; all rows if empty.
        out: Folder for the runs, one for each column.
        mini: Run the version for the mini world.
        dry_run: Print the plan of each run only.
        as_json: Print JSON on standard output.

    Raises:
        T2IError: A run is not possible.
        FailedRun: More samples failed than allowed; raised after the table is printed.
        BadOption: A run has no value for a column; raised after the table is printed.
    """
    table = read_table(name, evaluator.resolver)
    # both versions are checked before anything is loaded
    wanted = [list_runs(side, name, evaluator, out) for side in (table, table.mini)][mini]
    if rows:
        wanted = _select_rows(wanted, rows)
    if dry_run:
        _print_plans(wanted, evaluator, as_json)
        return
    cells: list[Cell] = []
    failed: list[str] = []
    problems: list[str] = []
    for column, spec, request in wanted:
        run = evaluator.run(request, as_json)
        try:
            cells += _measure_cells(table, column, spec, run, {} if mini else table.published, evaluator.resolver)
        except BadOption as error:  # raised at the end, so that the other columns are printed
            problems.append(str(error))
        failed += [run.failed] if run.failed else []
    if not mini:
        cells += _list_unmeasured(table, {column for column, *_ in wanted}, rows, cells)
    if as_json:
        print_json(_describe_cells(name, table, mini, cells))
    else:
        _print(table, mini, cells)
    if failed:
        raise FailedRun("; ".join([*failed, *problems]))
    if problems:
        raise BadOption("; ".join(problems))


def _list_unmeasured(
    table: PaperTable, columns: Collection[str], rows: Sequence[str], cells: Sequence[Cell]
) -> Iterator[Cell]:
    """Yield the published values that no run measured, for the requested columns and rows."""
    there = {(cell.row, cell.column) for cell in cells}
    for row, values in table.published.items():
        for column, value in values.items():
            if (row, column) not in there and column in columns and (not rows or row in rows):
                yield Cell(row, column, value)


def list_runs(side: Side, name: str, evaluator: Evaluator, out: Path | None = None) -> list[_Wanted]:
    """Return each column's name, the column and the request of its run, all checked.

    Args:
        side: The table, or its version for the mini world.
        name: Name of the table, for messages.
        evaluator: Makes requests.
        out: Folder for the runs, or None for the default.

    Raises:
        BadRecipe: A recipe is not valid, or has no models or metrics.
        T2IError: A component is unknown, broken or missing.
    """
    wanted = []
    for column, spec, recipe in side.list_recipes():
        where = f"table {name}, column {column!r}"
        for key in ("models", "metrics"):
            if not recipe.get(key):
                raise BadRecipe(f"{where}: the recipe must name a {key.removesuffix('s')}")
        wanted.append((column, spec, evaluator.make_request(recipe, where, out and out / make_slug(column))))
    return wanted


def _print_plans(wanted: Sequence[_Wanted], evaluator: Evaluator, as_json: bool) -> None:
    if as_json:
        print_json([{"column": column, **evaluator.forecast(request)} for column, _, request in wanted])
        return
    for *_, request in wanted:
        evaluator.print_plan(request)


def _select_rows(wanted: Sequence[_Wanted], rows: Sequence[str]) -> list[_Wanted]:
    """Return the columns with only these rows. Raises BadOption if no column has one of the rows."""
    models = [[m for asked in request.models for m in asked.expand()] for *_, request in wanted]
    known = list(dict.fromkeys(_find_label(model) for several in models for model in several))
    if unknown := next((row for row in rows if row not in known), None):
        raise BadOption(f"--row {unknown!r}: no such row; the table has {', '.join(known)}")
    left = [
        (column, spec, replace(request, models=tuple(m for m in several if _find_label(m) in rows)))
        for (column, spec, request), several in zip(wanted, models, strict=True)
    ]
    return [each for each in left if each[-1].models]


def _find_label(model: ModelRequest) -> str:
    return model.label or str(model.spec)


def _measure_cells(
    table: PaperTable,
    column: str,
    spec: Column,
    run: Run,
    published: Mapping[str, Mapping[str, float]],
    resolver: Resolver[Any],
) -> Iterator[Cell]:
    """Yield a cell for each model of a run. Raises BadOption if the run has no value for the column."""
    analysed = None if spec.analysis is None else _read_analysis(spec.analysis, run, resolver)
    for result in run.results:
        row = result.label
        try:
            value, ci = _find_score(spec, result) if analysed is None else (analysed(row), None)
        except (LookupError, ValueError) as error:
            raise BadOption(f"column {column!r}: {result.metric} does not give {error} for {row}") from error
        yield Cell(
            row,
            column,
            published.get(row, {}).get(column),
            None if value is None else value * table.scale,
            None if ci is None else (_scale(ci[0], table.scale), _scale(ci[1], table.scale)),
            str(run.folder),
        )


def _find_score(spec: Column, result: Result) -> tuple[float | None, list[float | None] | None]:
    """Return the value and interval of a result that a column shows. Raises KeyError."""
    if spec.score is None:
        return result.score, result.ci
    if spec.level is None:
        score = result.scores[spec.score]
    else:
        ((facet, level),) = spec.level.items()
        score = result.facets[spec.score][facet][level]
    return score.value, score.ci


def _read_analysis(spec: FromAnalysis, run: Run, resolver: Resolver[Any]) -> Callable[[str], float | None]:
    """Return a function from a model's label to its value in an analysis.

    The analysis is computed once for all models. The function returns None if the table lacks the row or has no
    number there. It raises LookupError if no analysis has the value, and ValueError if the value is not a number.
    """
    found = (
        each.table for _, each in analyze_run(run, list_metrics(run, resolver), resolver) if each.name == spec.name
    )
    table = next(found, None)
    ((key, wanted),) = spec.row.items()

    def find_value(model: str) -> float | None:
        if table is None:
            raise LookupError(f"the analysis {spec.name!r}")
        values = table.loc[table[key] == wanted, model]
        value = float(values.iloc[0]) if len(values) else nan
        return None if isnan(value) else value

    return find_value


def _scale(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _describe_cells(name: str, table: PaperTable, mini: bool, cells: Sequence[Cell]) -> dict[str, Any]:
    rows = [
        {
            "row": cell.row,
            "column": cell.column,
            **({} if mini else {"published": cell.published}),
            "measured": cell.measured,
            "ci": None if cell.ci is None else list(cell.ci),
            **({} if mini else {"diff": cell.diff, "holds": cell.holds(table.find_decimals(cell.column))}),
            "run": cell.run,
        }
        for cell in cells
    ]
    return {"table": name, "title": table.title, "paper": table.paper, "mini": mini, "cells": rows}


def _print(table: PaperTable, mini: bool, cells: Sequence[Cell]) -> None:
    alone = mini or not table.published
    compared = ["published", "measured", "95 % interval", "difference", "in interval"]
    page = make_table("row", "column", *(compared[1:3] if alone else compared))
    for cell in cells:
        values: tuple[str, ...] = (format_number(cell.measured), format_interval(cell.ci))
        if not alone:
            decimals = table.find_decimals(cell.column)
            printed = "-" if cell.published is None else f"{cell.published:.{decimals}f}"
            values = (printed, *values, _format_difference(cell.diff), _format_answer(cell.holds(decimals)))
        page.add_row(*map(shown, (cell.row, cell.column, *values)))
    screen = console()
    screen.print(shown(table.title, "bold"))
    screen.print(page)
    if mini:
        notes = [NO_PAPER, *table.mini.notes]
    else:
        notes = table.notes if table.published else [NOT_STORED, *table.notes]
    for note in notes:
        screen.print(shown(f"note: {note}"))


def _format_difference(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _format_answer(answer: bool | None) -> str:
    return "-" if answer is None else "yes" if answer else "no"
