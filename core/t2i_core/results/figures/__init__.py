"""Declared figures (`t2i_core.api.figure`) as Vega-Lite specifications, SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...api.errors import BrokenPlugin
from ...api.figure import (
    BarChart,
    DistributionPlot,
    Figure,
    ForestPlot,
    HeatMap,
    LinePlot,
    Mosaic,
    ScatterPlot,
)
from ..chart import Chart, load_converter
from .grid import draw_heat_map
from .mosaic import draw_mosaic
from .points import draw_points
from .rows import draw_bars, draw_distribution, draw_forest
from .series import draw_lines

if TYPE_CHECKING:
    import pandas as pd


def make_spec(figure: Figure, table: pd.DataFrame) -> dict[str, Any]:
    """Return a figure of numbers as a Vega-Lite specification with its data.

    Args:
        figure: The figure.
        table: The table of its analysis, drawn unless the figure has its own table.

    Raises:
        BrokenPlugin: If the table lacks a column that the figure names, or it is none of `t2i_core.api.figure`.
        TypeError: If the figure is a mosaic.
    """
    if isinstance(figure, Mosaic):
        raise TypeError("a mosaic of images has no specification; draw it as SVG")
    drawn: pd.DataFrame = table if getattr(figure, "data", None) is None else figure.data  # type: ignore[assignment]
    match figure:
        case LinePlot():
            return draw_lines(figure, drawn)
        case BarChart():
            return draw_bars(figure, drawn)
        case ForestPlot():
            return draw_forest(figure, drawn)
        case HeatMap():
            return draw_heat_map(figure, drawn)
        case ScatterPlot():
            return draw_points(figure, drawn)
        case DistributionPlot():
            return draw_distribution(figure, drawn)
    raise BrokenPlugin(f"a figure must be one of t2i_core.api.figure (got {type(figure).__name__})")


def draw_svg(figure: Figure, table: pd.DataFrame) -> str:
    """Return a figure as SVG on a white ground.

    Args:
        figure: The figure.
        table: The table of its analysis.

    Raises:
        BrokenPlugin: If the table lacks a column that the figure names, or it is none of `t2i_core.api.figure`.
        MissingDependency: If vl-convert-python is not installed, which all but mosaics need.
    """
    if isinstance(figure, Mosaic):
        return draw_mosaic(figure)
    return Chart(make_spec(figure, table)).to_svg()


def convert_to_png(svg: str) -> bytes:
    """Return SVG as PNG, twice as wide and high in pixels.

    Raises:
        MissingDependency: If vl-convert-python is not installed.
    """
    return bytes(load_converter().svg_to_png(svg, scale=2))
