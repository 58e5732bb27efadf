"""Line plots."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...api.figure import LinePlot
from ..table_format import title_column
from .data import Drawn, collect
from .look import HEIGHT, MOST_LABELS, PALETTE, PANEL_HEIGHT
from .spec import HOVER, Spec, colour_of, finish, panel_width, quantity, rule, shape_of, value_axis, wrap_title

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 60
"""Maximum number of values along x for which each has a point."""

FEW_VALUES = 12
"""Maximum number of values along x for which each has its own tick."""


def draw_lines(plot: LinePlot, table: pd.DataFrame) -> Spec:
    """Return the specification of a line plot."""
    levels = plot.scale == "levels"
    low, high = plot.interval
    drawn = collect(
        table,
        {"y": plot.y} if levels else {"x": plot.x, "y": plot.y},
        {"low": low, "high": high},
        {"colour": plot.colour, "facet": plot.facet} | ({"x": plot.x} if levels else {}),
        plot.hover,
    )
    if drawn.count("colour") < 2 and 2 <= drawn.count("facet") <= len(PALETTE):
        for record in drawn.records:
            record["colour"] = record["facet"]
        drawn = Drawn(drawn.records, {**drawn.levels, "colour": drawn.levels["facet"], "facet": []})
    x = _level_axis(plot, drawn) if levels else _number_axis(plot, drawn)
    y = value_axis(
        drawn,
        ("y", "low", "high"),
        plot.y_title or title_column(plot.y),
        plot.y_range,
        include=plot.reference,
    )
    colours = colour_of(drawn)
    layers = [rule("y", plot.reference)] if plot.reference is not None else []
    if plot.at is not None:
        layers.append(rule("x", plot.at, (1, 3)))
    if drawn.has("low"):
        ends = {"x": x, "y": quantity("low", y), "y2": {"field": "high"}, **colours}
        ends |= {} if "field" in colours["color"] else {"color": colours["color"]}
        mark: Spec = {"type": "area", "opacity": 0.2, "line": False, "aria": False}
        if plot.band == "bars":
            mark = {"type": "rule", "strokeWidth": 1.5, "aria": False}
        layers.append({"transform": [{"filter": "datum.low != null && datum.high != null"}], "mark": mark})
        layers[-1]["encoding"] = ends
        if plot.band == "band" and _mark_single_points(drawn):  # a band needs two points
            single = {"transform": [{"filter": "datum.single && datum.low != null && datum.high != null"}]}
            layers.append(
                {**single, "mark": {"type": "rule", "strokeWidth": 1.5, "aria": False}, "encoding": ends}
            )
    line = {"x": x, "y": quantity("y", y), **colours}
    layers.append({"mark": {"type": "line", "strokeWidth": 1.6, "aria": False}, "encoding": line})
    if len({record["x"] for record in drawn.records}) <= MOST_POINTS:
        point = {"type": "point", "filled": True, "size": 34, "opacity": 1}
        layers.append({"mark": point, "encoding": {**line, **shape_of(drawn), **HOVER}})
    several = drawn.count("facet") > 1
    width: Any = panel_width(drawn)
    if levels and drawn.count("x") > 20:
        width = {"step": 14} if drawn.count("x") <= MOST_LABELS else 900
    return finish(drawn, layers, {"width": width, "height": PANEL_HEIGHT if several else HEIGHT}, plot.note)


def _mark_single_points(drawn: Drawn) -> bool:
    """Mark the points that are their line's only one, and return whether there are any."""
    lines = [(record.get("colour"), record.get("facet")) for record in drawn.records]
    points = Counter(lines)
    for record, line in zip(drawn.records, lines, strict=True):
        record["single"] = points[line] == 1
    return 1 in points.values()


def _level_axis(plot: LinePlot, drawn: Drawn) -> Spec:
    many = drawn.count("x") > MOST_LABELS
    axis = {"labels": not many, "labelAngle": -60 if drawn.count("x") > 8 else 0, "grid": False}
    scale = {"domain": drawn.levels["x"], "type": "point", "padding": 0.5}
    title = wrap_title(plot.x_title or title_column(plot.x))
    return {"field": "x", "type": "nominal", "title": title, "sort": None, "axis": axis, "scale": scale}


def _number_axis(plot: LinePlot, drawn: Drawn) -> Spec:
    values = sorted({record["x"] for record in drawn.records})
    axis: Spec = {"grid": False}
    if len(values) <= FEW_VALUES:
        whole = all(float(value).is_integer() for value in values)
        axis |= {"values": values, "format": "d" if whole else "~g"}
    span = (values[0], values[-1]) if values else (0, 1)
    title = wrap_title(plot.x_title or title_column(plot.x))
    if plot.scale == "log" and span[0] > 0:
        scale: Spec = {"type": "log", "domain": [span[0] / 1.1, span[1] * 1.1], "nice": False}
    else:
        room = 0.03 * (span[1] - span[0]) or 0.5
        scale = {"domain": [span[0] - room, span[1] + room], "nice": False, "zero": False}
    return {"field": "x", "type": "quantitative", "title": title, "axis": axis, "scale": scale}
