"""Figures with a row for each label: bar charts, forest plots and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...api.figure import BarChart, DistributionPlot, ForestPlot
from ..table_format import title_column
from .data import Drawn, collect
from .look import MOST_LABELS, ROW, SHAPES, SOFT, TEXT
from .spec import (
    HOVER,
    Spec,
    colour_of,
    finish,
    panel_width,
    panels_by,
    quantity,
    row_axis,
    rule,
    shape_of,
    value_axis,
)

if TYPE_CHECKING:
    import pandas as pd

GROUPED = 9
"""Height of a bar or point in a group of several, in pixels."""

THIN, THINNEST = 6, 3
"""Height of one in a group of more than eight, and of more than twelve."""

FEW_VALUES = 200
"""Maximum number of values of a distribution that shows each of them."""


def draw_bars(chart: BarChart, table: pd.DataFrame) -> Spec:
    """Return the specification of a bar chart."""
    low, high = chart.interval
    drawn = collect(
        table,
        {"value": chart.value},
        {} if chart.stacked else {"low": low, "high": high},
        {"label": chart.label, "colour": chart.colour, "facet": chart.facet},
        chart.hover,
    )
    y, height = _group_axis(drawn, None if chart.stacked else "colour")
    roles = ("value",) if chart.stacked else ("value", "low", "high")
    title = chart.title or title_column(chart.value)
    x = value_axis(drawn, roles, title, chart.range, zero=True, include=chart.reference)
    if chart.stacked:
        totals: dict[tuple[str, str], float] = {}
        for record in drawn.records:
            place = (record["label"], record.get("facet", ""))
            totals[place] = totals.get(place, 0.0) + record["value"]
        x["scale"] = {"domain": [0, max(totals.values(), default=1.0)], "nice": False}
    colours = colour_of(drawn, chart.colours)
    bar: Spec = {"type": "bar", "stroke": SOFT, "strokeWidth": 0.5 if chart.colours else 0}
    if not chart.stacked:
        bar |= {"opacity": 0.85}
    length = {**quantity("value", x), "stack": "zero" if chart.stacked else None}
    if chart.stacked:
        length["scale"] = x["scale"]
        colours |= {"order": {"field": "order", "type": "quantitative"}}
        for record in drawn.records:
            record["order"] = drawn.levels["colour"].index(record["colour"])
    layers: list[Spec] = [{"mark": bar, "encoding": {"x": length, **y, **colours, **HOVER}}]
    if not chart.stacked:  # a bar of length 0 is there, unlike one without a value
        nothing = {
            "mark": {"type": "tick", "thickness": 3, "aria": False},
            "encoding": {"x": length, **y, **colours},
        }
        layers.append({"transform": [{"filter": "datum.value == 0"}], **nothing})
    layers += _interval_layer(drawn, x, y, {"color": {"value": TEXT}})
    if chart.reference is not None:
        layers.append(rule("x", chart.reference))
    return finish(drawn, layers, {"width": panel_width(drawn), "height": height}, chart.note)


def draw_forest(plot: ForestPlot, table: pd.DataFrame) -> Spec:
    """Return the specification of a forest plot."""
    low, high = plot.interval
    ticks = {f"tick{i}": column for i, column in enumerate(plot.ticks)}
    drawn = collect(
        table,
        {"value": plot.value},
        {"low": low, "high": high, **ticks},
        {"label": plot.label, "colour": plot.colour, "beside": plot.beside, "facet": plot.facet},
        plot.hover,
    )
    y, height = _group_axis(drawn, "colour" if plot.beside is None else "beside")
    roles = ("value", "low", "high", *ticks)
    title = plot.title or title_column(plot.value)
    x = value_axis(drawn, roles, title, plot.range, include=plot.reference)
    if not plot.shared:
        x["scale"] = {"zero": False}
    x["axis"] = {"tickCount": 5 if drawn.count("facet") > 1 else 8}
    colours = colour_of(drawn)
    layers: list[Spec] = [rule("x", plot.reference)] if plot.reference is not None else []
    for role, name in zip(ticks, plot.ticks.values(), strict=True):
        layers.append(_tick_layer(role, name, list(plot.ticks.values()), x, y))
    layers += _interval_layer(drawn, x, y, colours)
    small = drawn.count("beside") > 8
    point = {"type": "point", "filled": True, "size": 10 if small else 46, "opacity": 1}
    shapes = {} if ticks else shape_of(drawn)  # the shapes of ticks have their own legend
    layers.append({"mark": point, "encoding": {"x": quantity("value", x), **y, **colours, **shapes, **HOVER}})
    more: Spec = {"resolve": {"scale": {"x": "independent"}}} if not plot.shared else {}
    return finish(drawn, layers, {"width": panel_width(drawn), "height": height}, plot.note, **more)


def _tick_layer(role: str, name: str, names: Sequence[str], x: Spec, y: Spec) -> Spec:
    """Return the layer with a further place in each row, whose meaning stands in a legend."""
    scale = {
        "domain": list(names),
        "range": [("stroke", "triangle-up", "diamond")[i % 3] for i in range(len(names))],
    }
    shape = {"datum": name, "type": "nominal", "title": None, "scale": scale}
    mark = {"type": "point", "size": 60, "angle": 90, "color": SOFT, "strokeWidth": 2, "opacity": 1}
    transform = [{"filter": f"datum.{role} != null"}]
    return {"transform": transform, "mark": mark, "encoding": {"x": quantity(role, x), **y, "shape": shape}}


def _group_axis(drawn: Drawn, role: str | None) -> tuple[Spec, Any]:
    """Return the encodings of rows, and of the levels side by side in them, and the height of a panel."""
    y, height = row_axis(drawn, "label")
    if role is None or drawn.count(role) < 2:
        return {"y": y}, height
    levels = drawn.levels[role]
    each = GROUPED if len(levels) <= 8 else THIN if len(levels) <= 12 else THINNEST
    if drawn.count("label") <= MOST_LABELS:
        height = {"step": each, "for": "offset"}
        y["scale"] |= {"paddingInner": 0.15, "paddingOuter": 0.1}
    offset = {"field": role, "type": "nominal", "sort": None, "scale": {"domain": levels}}
    return {"y": y, "yOffset": offset}, height


def _interval_layer(drawn: Drawn, x: Spec, y: Spec, colours: Spec) -> list[Spec]:
    if not drawn.has("low"):
        return []
    mark = {"type": "rule", "strokeWidth": 1.5, "aria": False}
    encoding = {"x": quantity("low", x), "x2": {"field": "high"}, **y, **colours}
    known = [{"filter": "datum.low != null && datum.high != null"}]
    return [{"transform": known, "mark": mark, "encoding": encoding}]


def draw_distribution(plot: DistributionPlot, table: pd.DataFrame) -> Spec:
    """Return the specification of a plot of distributions."""
    drawn = collect(table, {"value": plot.value}, {}, {"label": plot.label, "facet": plot.facet}, plot.hover)
    x = value_axis(drawn, ("value",), plot.title or title_column(plot.value), (None, None))
    if plot.kind == "density":
        return _draw_densities(plot, drawn, x)
    y, height = row_axis(drawn, "label", each=34)
    box = {"type": "boxplot", "extent": "min-max", "size": 16, "color": SOFT, "opacity": 0.45}
    box |= {"median": {"color": TEXT, "strokeWidth": 2, "opacity": 1}}
    layers: list[Spec] = [{"mark": box, "encoding": {"x": quantity("value", x), "y": y}}]
    if len(drawn.records) <= FEW_VALUES * drawn.count("label"):
        for i, record in enumerate(drawn.records):
            record["jitter"] = i * 0.618034 % 1  # evenly spread, and the same each time
        offset = {"field": "jitter", "type": "quantitative", "scale": {"domain": [-0.6, 1.6]}}
        point = {"type": "point", "filled": True, "size": 14, "opacity": 0.6, "shape": SHAPES[0]}
        encoding = {"x": quantity("value", x), "y": y, "yOffset": offset, **colour_of(drawn), **HOVER}
        layers.append({"mark": point, "encoding": encoding})
    groups = ["label", *(["facet"] if drawn.count("facet") > 1 else [])]
    mean = {"aggregate": [{"op": "mean", "field": "value", "as": "mean"}], "groupby": groups}
    plus: Spec = {"transform": [mean], "mark": {"type": "text", "text": "+", "fontSize": 20, "color": TEXT}}
    plus["mark"] |= {"baseline": "middle", "aria": False}
    layers.append({**plus, "encoding": {"x": quantity("mean", x), "y": y}})
    note = "; ".join(filter(None, (plot.note, "line: median, plus: mean")))
    return finish(drawn, layers, {"width": panel_width(drawn), "height": height}, note)


def _draw_densities(plot: DistributionPlot, drawn: Drawn, x: Spec) -> Spec:
    """Return a smooth curve for each level, one below the other, with its median."""
    groups = ["label", *(["facet"] if drawn.count("facet") > 1 else [])]
    smooth = {
        "density": "value",
        "groupby": groups,
        "extent": list(drawn.extent("value")),
        "as": ["at", "density"],
    }
    height = {"field": "density", "type": "quantitative", "axis": None, "stack": "center", "impute": None}
    area: Spec = {"transform": [smooth], "mark": {"type": "area", "opacity": 0.55, "aria": False}}
    area["encoding"] = {"x": quantity("at", x), "y": height, **colour_of(drawn)}
    middle = {"aggregate": [{"op": "median", "field": "value", "as": "median"}], "groupby": groups}
    line = {"type": "tick", "color": TEXT, "thickness": 2, "size": 26, "aria": False}
    median: Spec = {"transform": [middle], "mark": line, "encoding": {"x": quantity("median", x)}}
    header = {"labelAngle": 0, "labelAlign": "left", "labelLimit": 240}
    facet: Spec = {"row": {**panels_by(drawn, "label"), "header": header}}
    if drawn.count("facet") > 1:
        facet["column"] = panels_by(drawn, "facet")
    spec = finish(
        Drawn(drawn.records, {}), [area, median], {"width": panel_width(drawn), "height": 2 * ROW}, plot.note
    )
    body = {"layer": spec.pop("layer"), "width": spec.pop("width"), "height": spec.pop("height")}
    return {**spec, "facet": facet, "spec": body, "spacing": {"row": 2, "column": 24}}
