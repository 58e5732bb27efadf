"""Scatter plots, with labels where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...api.figure import ScatterPlot
from ..table_format import title_column
from .data import Drawn, collect
from .look import SOFT, TEXT
from .spec import HOVER, Spec, colour_of, finish, quantity, rule, shape_of, value_axis

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 80
"""Maximum number of points with a label in a panel."""

MANY = 200
"""Number of points from which they are small and transparent, so that density shows."""

MANY_LABELS = 16
"""Number of labels in each of several panels from which the panels are larger."""

LETTER, LINE = 5.6, 11
"""Mean width of a letter and height of a line, in pixels."""


def draw_points(plot: ScatterPlot, table: pd.DataFrame) -> Spec:
    """Return the specification of a scatter plot."""
    by_group = plot.reference if isinstance(plot.reference, str) else None
    if plot.curve is not None:
        table = table.assign(curve_of_point=table[plot.curve])
    drawn = collect(
        table,
        {"x": plot.x, "y": plot.y},
        {
            "low": plot.interval[0], "high": plot.interval[1], "x_low": plot.x_interval[0],
            "x_high": plot.x_interval[1], "size": plot.size, "reference": by_group,
            "curve": None if plot.curve is None else "curve_of_point",
        },
        {"label": plot.label, "colour": plot.colour, "facet": plot.facet},
        plot.hover,
    )  # fmt: skip
    width, height = _choose_size(plot, drawn)
    x, y = _axes(plot, drawn, width, height)
    colours = colour_of(drawn, plot.colours)
    layers = list(_lines(plot, drawn, x, y, colours))
    many = len(drawn.records) > MANY
    point = {"type": "point", "filled": True, "size": 14 if many else 44, "opacity": 0.45 if many else 0.9}
    if plot.colours:  # they may be as light as the page, or as dark
        point |= {"stroke": SOFT, "strokeWidth": 0.8}
    shapes = shape_of(drawn)
    encoding = {"x": quantity("x", x), "y": quantity("y", y), **colours, **shapes, **HOVER}
    if plot.label is not None and plot.colours.keys() >= set(drawn.levels.get("colour", ())):
        for channel in (*colours.values(), *shapes.values()):
            channel["legend"] = None  # labels say what the colours would
    if plot.size is not None:
        encoding["size"] = {"field": "size", "type": "quantitative", "title": title_column(plot.size)}
        encoding["size"]["scale"] = {"zero": True, "range": [10, 260]}
    layer: Spec = {"mark": point, "encoding": encoding}
    if plot.curve is not None and not plot.curve_points:
        layer["transform"] = [{"filter": "datum.curve == null || datum.label"}]
    layers.append(layer)
    if plot.label is not None:
        layers += _write_labels(drawn, x, y, width, height)
    return finish(drawn, layers, {"width": width, "height": height}, plot.note)


def _choose_size(plot: ScatterPlot, drawn: Drawn) -> tuple[int, int]:
    """Return the width and height of a panel in pixels."""
    if drawn.count("facet") < 2:
        return 460, 400 if plot.square or plot.label else 320
    labels = sum(bool(record.get("label")) for record in drawn.records) / drawn.count("facet")
    if labels > MANY_LABELS:
        return 420, 420
    return 300, 300 if plot.square or plot.label else 240


def _axes(plot: ScatterPlot, drawn: Drawn, width: int, height: int) -> tuple[Spec, Spec]:
    x = value_axis(
        drawn, ("x", "x_low", "x_high"), plot.x_title or title_column(plot.x), plot.x_range, include=plot.at
    )
    level = plot.reference if isinstance(plot.reference, int | float) else None
    roles = ("y", "low", "high", "reference")
    y = value_axis(drawn, roles, plot.y_title or title_column(plot.y), plot.y_range, include=level)
    most = 5 if width < 400 else 8  # more would run into each other
    if all(isinstance(record["x"], int) for record in drawn.records):
        low, high = drawn.extent("x")
        most = min(most, max(int(high - low), 1))  # no ticks between whole numbers, such as ranks
    x["axis"] = {"tickCount": most}
    if plot.square:
        ends = (x["scale"]["domain"], y["scale"]["domain"])
        unit = max((ends[0][1] - ends[0][0]) / width, (ends[1][1] - ends[1][0]) / height)
        for axis, pixels in ((x, width), (y, height)):
            middle = sum(axis["scale"]["domain"]) / 2
            axis["scale"]["domain"] = [middle - unit * pixels / 2, middle + unit * pixels / 2]
    return x, y


def _lines(plot: ScatterPlot, drawn: Drawn, x: Spec, y: Spec, colours: Spec) -> Iterator[Spec]:
    """Yield the layers below the points."""
    if isinstance(plot.reference, int | float):
        yield rule("y", plot.reference)
    if plot.at is not None:
        yield rule("x", plot.at)
    if drawn.has("reference"):
        mark = {"type": "rule", "strokeDash": [2, 3], "aria": False}
        role = "facet" if drawn.count("facet") > 1 else "colour"
        groups = [role] if drawn.count(role) else []
        paint = {"color": {"value": SOFT}} if role == "facet" else colours
        unique = {"aggregate": [{"op": "min", "field": "reference", "as": "reference"}], "groupby": groups}
        yield {"transform": [unique], "mark": mark, "encoding": {"y": quantity("reference", y), **paint}}
    if plot.diagonal:
        ends = [*x["scale"]["domain"], *y["scale"]["domain"]]
        values = [{"at": max(ends[0], ends[2])}, {"at": min(ends[1], ends[3])}]
        mark = {"type": "line", "color": SOFT, "strokeDash": [4, 3], "strokeWidth": 1, "aria": False}
        encoding = {"x": quantity("at", x), "y": quantity("at", y)}
        yield {"data": {"values": values}, "mark": mark, "encoding": encoding}
    if drawn.has("curve"):
        for i, record in enumerate(drawn.records):
            record["order"] = i
        mark = {"type": "line", "strokeWidth": 1.4, "opacity": 0.8, "aria": False}
        encoding = {"x": quantity("x", x), "y": quantity("y", y), **colours}
        encoding |= {"detail": {"field": "curve"}, "order": {"field": "order", "type": "quantitative"}}
        yield {"transform": [{"filter": "datum.curve != null"}], "mark": mark, "encoding": encoding}
    thin = {"type": "rule", "strokeWidth": 1, "opacity": 0.6, "aria": False}
    for low, high, place in (("low", "high", "y"), ("x_low", "x_high", "x")):
        if drawn.has(low):
            other = "x" if place == "y" else "y"
            axes = {"x": x, "y": y}
            ends_of = {place: quantity(low, axes[place]), f"{place}2": {"field": high}}
            encoding = {other: quantity(other, axes[other]), **ends_of, **colours}
            known = [{"filter": f"datum.{low} != null && datum.{high} != null"}]
            yield {"transform": known, "mark": thin, "encoding": encoding}


def _write_labels(drawn: Drawn, x: Spec, y: Spec, width: int, height: int) -> list[Spec]:
    """Return the layer with the labels that find room beside their points, without covering others."""
    panels: dict[str, list[dict[str, Any]]] = {}
    for record in drawn.records:
        panels.setdefault(record.get("facet", ""), []).append(record)
    x_ends, y_ends = x["scale"]["domain"], y["scale"]["domain"]
    x_unit, y_unit = (x_ends[1] - x_ends[0]) / width, (y_ends[1] - y_ends[0]) / height
    for every in panels.values():
        own = sorted(every, key=lambda record: not record["label"])  # those with a label first
        labels = [record["label"] for record in own if record["label"]]
        if len(labels) > MOST_TEXTS:
            continue
        spots = [((r["x"] - x_ends[0]) / x_unit, (y_ends[1] - r["y"]) / y_unit) for r in own]
        for record, place in zip(own, place_labels(labels, spots, width, height), strict=False):
            if place is not None:
                record["label_x"] = x_ends[0] + place[0] * x_unit
                record["label_y"] = y_ends[1] - place[1] * y_unit
        for record, spot in zip(own, spots, strict=True):
            if (end := _end_leader(record, spot, (x_ends[0], y_ends[1]), (x_unit, y_unit))) is not None:
                record["leader_x"], record["leader_y"] = end
    if not drawn.has("label_x"):
        return []
    mark = {"type": "text", "fontSize": 10, "color": TEXT, "baseline": "middle", "limit": 160, "aria": False}
    encoding = {"x": quantity("label_x", x), "y": quantity("label_y", y), "text": {"field": "label"}}
    texts: Spec = {"transform": [{"filter": "isValid(datum.label_x)"}], "mark": mark, "encoding": encoding}
    if not drawn.has("leader_x"):
        return [texts]
    leader = {"type": "rule", "color": SOFT, "strokeWidth": 0.7, "aria": False}
    ends = {"x2": {"field": "leader_x"}, "y2": {"field": "leader_y"}}
    lines = {"x": quantity("x", x), "y": quantity("y", y), **ends}
    return [{"transform": [{"filter": "isValid(datum.leader_x)"}], "mark": leader, "encoding": lines}, texts]


def _end_leader(
    record: dict[str, Any], spot: tuple[float, float], origin: tuple[float, float], unit: tuple[float, float]
) -> tuple[float, float] | None:
    """Return where the line from a point to its label ends; None if the label is beside the point, or absent.

    Args:
        record: The row of the point.
        spot: Its place in pixels.
        origin: Values of x and y at the panel's upper left corner.
        unit: Values per pixel.
    """
    if "label_x" not in record:
        return None
    middle = (record["label_x"] - origin[0]) / unit[0], (origin[1] - record["label_y"]) / unit[1]
    half = min(len(record["label"]) * LETTER, 160) / 2, LINE / 2
    x, y = (
        min(max(at, centre - reach), centre + reach) for at, centre, reach in zip(spot, middle, half, strict=True)
    )
    if abs(x - spot[0]) <= LINE and abs(y - spot[1]) <= LINE:
        return None
    return origin[0] + x * unit[0], origin[1] - y * unit[1]


def place_labels(
    labels: list[str], spots: list[tuple[float, float]], width: float, height: float
) -> list[tuple[float, float] | None]:
    """Return the middle of each label, or None where it would cover a point or another label.

    Args:
        labels: The labels of the first points.
        spots: The place of each point, in pixels.
        width: Width of the panel.
        height: Height of the panel.
    """
    taken = [(px - 3, py - 3, px + 3, py + 3) for px, py in spots]
    found: list[tuple[float, float] | None] = []
    for label, (px, py) in zip(labels, spots, strict=False):
        wide = min(len(label) * LETTER, 160) / 2
        away, up = wide + 6, LINE
        candidates = (
            *((px, py - up), (px, py + up), (px + away, py), (px - away, py)),
            *((px + away, py - up), (px - away, py - up), (px + away, py + up), (px - away, py + up)),
            *(  # further away, with a line to the point
                (px + right * (away + 8 * ring), py + down * up * ring)
                for ring in (2, 3)
                for right, down in ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1))
            ),
        )
        place = next((c for c in candidates if _is_free(c, wide, taken, width, height)), None)
        found.append(place)
        if place is not None:
            taken.append((place[0] - wide, place[1] - LINE / 2, place[0] + wide, place[1] + LINE / 2))
    return found


def _is_free(
    middle: tuple[float, float],
    wide: float,
    taken: list[tuple[float, float, float, float]],
    width: float,
    height: float,
) -> bool:
    left, right = middle[0] - wide, middle[0] + wide
    top, bottom = middle[1] - LINE / 2, middle[1] + LINE / 2
    if left < -20 or right > width + 40 or top < -8 or bottom > height + 4:
        return False
    return all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in taken)
