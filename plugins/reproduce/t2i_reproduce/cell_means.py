"""Cells that are means of other cells of their table, such as the average of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from .cell_values import MeasuredValue
from .paper_table import FilledCell, Settings

_SETTINGS: tuple[Settings, ...] = ("paper's", "assumed", "different")


def fill_means(cells: Sequence[FilledCell], columns: Sequence[str]) -> list[FilledCell]:
    """Return the cells of a table with their means. A mean may be of means.

    Args:
        cells: The cells; those of means are still empty.
        columns: The columns of the table.
    """
    known = {(each.cell.row, each.cell.column): each for each in cells}

    def fill(each: FilledCell) -> FilledCell:
        if each.reason is not None or not each.cell.source.mean_of:
            return each
        return _average(each, [fill(known[at]) for at in each.cell.list_parts(columns) if at in known])

    return [fill(each) for each in cells]


def _average(mean: FilledCell, parts: Sequence[FilledCell]) -> FilledCell:
    """Return a cell with the mean of its parts, and the means of the ends of their intervals.

    The deviation of a mean is at most the mean of the deviations, however the parts depend on each other (skills
    share seeds, models share prompts), so this interval is not too narrow. It is too wide if they do not.
    """
    named = mean.cell.source.mean_of
    measured = [part.measured for part in parts if part.measured is not None]
    values = [part.value for part in measured if isinstance(part.value, float | int)]
    if len(values) < len(named):
        return replace(mean, reason=f"it is the mean of {', '.join(named)}, and not all of them are measured")
    intervals = [part.ci for part in measured if part.ci is not None]
    ci = None
    if len(intervals) == len(values):
        ci = fmean(low for low, _ in intervals), fmean(high for _, high in intervals)
    settings = max((part.settings for part in parts), key=_SETTINGS.index)
    return replace(mean, measured=MeasuredValue(fmean(values), ci, measured[0].run), settings=settings)
