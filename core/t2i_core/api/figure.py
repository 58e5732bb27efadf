"""Figures, declared: which columns of a table are drawn, and how. `t2i_core.results.figures` draws them.

A figure names columns of the table of its analysis, or of a table of its own (`data`). A row without a value (NaN)
has no mark. If the table has the columns of `interval`, the intervals are drawn. `Columns` are one column, or
several whose texts are joined; a column with the same text in every row is left out. Levels keep the order of the
table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

    from .image import Image

Columns = str | tuple[str, ...]
"""One column, or several whose texts are joined."""

Range = tuple[float | None, float | None]
"""Ends of an axis; None where the data decide."""

INTERVAL = ("low", "high")
"""Names of the columns with the ends of an interval, unless a figure says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Fields that all figures of numbers share.

    Attributes:
        facet: Columns of which each level has its own panel.
        note: A line above the figure, such as the meaning of its reference line.
        data: The table to draw; if None, the table of the analysis.
        hover: Further columns that are shown when the pointer is over a mark.
    """

    facet: Columns | None = None
    note: str = ""
    data: pd.DataFrame | None = None
    hover: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class LinePlot(Plot):
    """A line with points for each level of `colour`, with a band from `low` to `high`.

    If `colour` has a single level, the levels of `facet` are lines of one panel instead.

    Attributes:
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        colour: Columns of which each level has a line.
        interval: Columns with the ends of the band.
        scale: `linear`, `log`, or `levels`: the values of x at equal distances, in the order of the table.
        reference: Height of a horizontal line.
        at: Place of a vertical line.
        x_title: Title of the axis; if empty, the name of the column.
        y_title: Likewise.
        y_range: Ends of the vertical axis.
        band: How the interval is drawn: as a `band`, or as `bars`, where lines have few points.
    """

    x: str
    y: str
    colour: Columns | None = None
    interval: tuple[str, str] = INTERVAL
    scale: Literal["linear", "log", "levels"] = "linear"
    reference: float | None = None
    at: float | None = None
    x_title: str = ""
    y_title: str = ""
    y_range: Range = (None, None)
    band: Literal["band", "bars"] = "band"


@dataclass(frozen=True, kw_only=True)
class BarChart(Plot):
    """Horizontal bars with intervals: a group for each level of `label`, a bar for each level of `colour`.

    Attributes:
        label: Columns that name the groups.
        value: Column with the length of the bars.
        colour: Columns that name the bars of a group.
        interval: Columns with the ends of the intervals.
        stacked: Whether the bars of a group are parts of one bar; they have no intervals then.
        reference: Place of a vertical line.
        title: Title of the axis; if empty, the name of the column.
        range: Ends of the axis.
        colours: Colours of levels of `colour` that are colours themselves, as in CSS.
    """

    label: Columns
    value: str
    colour: Columns | None = None
    interval: tuple[str, str] = INTERVAL
    stacked: bool = False
    reference: float | None = None
    title: str = ""
    range: Range = (None, None)
    colours: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ForestPlot(Plot):
    """A point with its interval for each row of the table, in a line for each level of `label`.

    Attributes:
        label: Columns that name the lines.
        value: Column with the place of the points.
        colour: Columns that tell the points of a line apart.
        beside: Columns by whose levels the points of a line stand side by side; if None, those of `colour`.
        interval: Columns with the ends of the intervals.
        reference: Place of a vertical line.
        ticks: Columns with further places in each row, such as what is expected by chance, with their meaning.
        title: Title of the axis; if empty, the name of the column.
        range: Ends of the axis.
        shared: Whether the panels of `facet` share the axis of values.
    """

    label: Columns
    value: str
    colour: Columns | None = None
    beside: Columns | None = None
    interval: tuple[str, str] = INTERVAL
    reference: float | None = None
    ticks: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    range: Range = (None, None)
    shared: bool = True


@dataclass(frozen=True, kw_only=True)
class HeatMap(Plot):
    """A cell for each pair of levels, coloured by its value; cells show their value and interval if they are few.

    Attributes:
        x: Columns that name the columns of the map.
        y: Columns that name its rows.
        value: Column with the values.
        interval: Columns with the ends of the intervals. Cells of large maps are the smaller the wider theirs is.
        range: Ends of the colour scale.
        diverging: Whether the middle of the range is neutral, as 0 of a correlation.
        title: Title of the colour scale; if empty, the name of the column.
        digits: Decimals of the values in cells.
        x_title: Title of the axis; if empty, the name of the column.
        y_title: Likewise.
        pale: Column with a text, such as the reason, in each row whose cell is drawn pale.
    """

    x: Columns
    y: Columns
    value: str
    interval: tuple[str, str] = INTERVAL
    range: Range = (None, None)
    diverging: bool = False
    title: str = ""
    digits: int = 2
    x_title: str = ""
    y_title: str = ""
    pale: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScatterPlot(Plot):
    """A point for each row, with its label where there is room.

    Attributes:
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        label: Columns that name the points; a point with an empty text has no label.
        colour: Columns that tell groups of points apart.
        colours: Colours of levels of `colour` that are colours themselves, as in CSS. If all levels have one and
            points have labels, there is no legend.
        size: Column to which the area of the points is proportional.
        curve: Column of which each level is joined by a line, in the order of the table; rows without a value are
            not joined.
        curve_points: Whether the rows of curves that have no label are drawn as points too.
        interval: Columns with the ends of the vertical intervals.
        x_interval: Columns with the ends of the horizontal intervals.
        reference: Height of a horizontal line, or the column that holds the height for each group.
        at: Place of a vertical line.
        diagonal: Whether to draw the line x = y.
        square: Whether both axes have the same unit, as in a map.
        x_title: Title of the axis; if empty, the name of the column.
        y_title: Likewise.
        x_range: Ends of the horizontal axis.
        y_range: Ends of the vertical axis.
    """

    x: str
    y: str
    label: Columns | None = None
    colour: Columns | None = None
    colours: Mapping[str, str] = field(default_factory=dict)
    size: str | None = None
    curve: str | None = None
    curve_points: bool = True
    interval: tuple[str, str] = INTERVAL
    x_interval: tuple[str, str] = ("x low", "x high")
    reference: float | str | None = None
    at: float | None = None
    diagonal: bool = False
    square: bool = False
    x_title: str = ""
    y_title: str = ""
    x_range: Range = (None, None)
    y_range: Range = (None, None)


@dataclass(frozen=True, kw_only=True)
class DistributionPlot(Plot):
    """The distribution of the values of each level of `label`; the table has a row for each value.

    Attributes:
        label: Columns of which each level has a distribution.
        value: Column with the values.
        kind: `box`: quartiles and the mean, with the values themselves where they are few; `density`: a smooth
            curve with the median, for many values.
        title: Title of the axis; if empty, the name of the column.
    """

    label: Columns
    value: str
    kind: Literal["box", "density"] = "box"
    title: str = ""


@dataclass(frozen=True)
class Mosaic:
    """Images in labelled rows; images that are missing or may not be shown stay empty.

    Attributes:
        rows: The label of each row and its images, from left to right.
        columns: Labels above the columns; one label may span several columns.
        span: Number of columns below each of these labels.
        side: Width and height of an image, in pixels.
    """

    rows: Sequence[tuple[str, Sequence[Image | None]]]
    columns: Sequence[str] = ()
    span: int = 1
    side: int = 128


Figure = LinePlot | BarChart | ForestPlot | HeatMap | ScatterPlot | DistributionPlot | Mosaic
"""A figure of an analysis."""
