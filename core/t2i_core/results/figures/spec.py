"""Parts of Vega-Lite specifications that several kinds of figures share."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ...api.figure import Range
from .data import Drawn
from .look import CONFIG, LONGEST_LABEL, MOST_LABELS, PANEL, ROW, SHAPES, SOFT, WIDTH, assign_colours

Spec = dict[str, Any]

LONGEST_LINE = 40
"""Maximum number of letters of a line of a title."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"

HOVER: Mapping[str, Any] = {
    "tooltip": {"field": "hover", "type": "nominal"},
    "description": {"field": "hover", "type": "nominal"},
}
"""Shows the values of a mark: in notebooks as a tooltip, in SVG as its description."""


def finish(drawn: Drawn, layers: Sequence[Spec], size: Spec, note: str, **more: Any) -> Spec:
    """Return a whole specification: one panel of layers, or one for each level of the role `facet`.

    Args:
        drawn: The rows.
        layers: The layers of a panel.
        size: `width` and `height` of a panel.
        note: A line above the figure.
        more: Further keys of the specification.
    """
    spec: Spec = {"$schema": SCHEMA, "config": CONFIG, "data": {"values": drawn.records}}
    if note:
        spec["title"] = {"text": note}
    body: Spec = {"layer": list(layers), **size}
    panels = drawn.count("facet")
    if panels < 2:
        return {**spec, **body, **more}
    facet = panels_by(drawn, "facet")
    return {**spec, "facet": facet, "columns": count_columns(drawn), "spec": body, "spacing": 36, **more}


def panels_by(drawn: Drawn, role: str) -> Spec:
    """Return the encoding of panels for the levels of a role, in the order of the levels."""
    places = {level: place for place, level in enumerate(drawn.levels[role])}
    for record in drawn.records:
        record[f"{role}_place"] = places[record[role]]
    # an array of levels as `sort` would put their texts into an expression
    return {"field": role, "type": "nominal", "title": None, "sort": {"field": f"{role}_place", "op": "min"}}


def count_columns(drawn: Drawn) -> int:
    """Return the number of panels side by side."""
    panels = drawn.count("facet")
    return panels if panels < 4 else 2 if panels == 4 else 3


def panel_width(drawn: Drawn) -> int:
    """Return the width of a panel."""
    return WIDTH if drawn.count("facet") < 2 else PANEL


def row_axis(drawn: Drawn, role: str, title: list[str] | None = None, each: float = ROW) -> tuple[Spec, Any]:
    """Return the encoding of levels down the vertical axis, and the height of a panel.

    Args:
        drawn: The rows.
        role: The role of the levels.
        title: Title of the axis.
        each: Height of a level in pixels.
    """
    levels = drawn.levels[role]
    axis: Spec = {"labelLimit": LONGEST_LABEL, "ticks": False, "domain": False, "labelPadding": 6}
    height: Any = {"step": each}
    if len(levels) > MOST_LABELS:
        axis |= {"labels": False}
        height = 900
    encoding = {"field": role, "type": "nominal", "title": title, "sort": None, "axis": axis}
    return {**encoding, "scale": {"domain": levels}}, height


def value_axis(
    drawn: Drawn,
    roles: Sequence[str],
    title: str,
    span: Range,
    *,
    zero: bool = False,
    include: float | None = None,
) -> Spec:
    """Return the encoding of a quantitative axis, without a field.

    Args:
        drawn: The rows.
        roles: The roles that the axis must hold.
        title: Its title.
        span: Its ends; None where the rows decide.
        zero: Whether it holds 0.
        include: A value that it holds too.
    """
    low, high = drawn.extent(*roles)
    for value in (0.0 if zero else None, include):
        if value is not None:
            low, high = min(low, value), max(high, value)
    room = 0.04 * (high - low) or 0.5
    ends = [
        span[0] if span[0] is not None else low if zero and low == 0 else low - room,
        span[1] if span[1] is not None else high if zero and high == 0 else high + room,
    ]
    scale = {"domain": ends, "nice": False, "zero": False, "clamp": False}
    return {"type": "quantitative", "title": wrap_title(title), "scale": scale}


def wrap_title(title: str) -> list[str] | None:
    """Return the lines of an axis's title, short enough for a panel."""
    return textwrap.wrap(title, LONGEST_LINE) or None


def colour_of(drawn: Drawn, colours: Mapping[str, str] | None = None, role: str = "colour") -> Spec:
    """Return the encodings of colour for series; only a colour without a legend if there is one series."""
    levels = drawn.levels.get(role, [])
    if len(levels) < 2 and not colours:
        return {"color": {"value": next(assign_colours([""], {}))}}
    scale = {"domain": levels, "range": list(assign_colours(levels, colours or {}))}
    legend = {"symbolOpacity": 1}
    return {"color": {"field": role, "type": "nominal", "title": None, "scale": scale, "legend": legend}}


def shape_of(drawn: Drawn, role: str = "colour") -> Spec:
    """Return the encoding of shapes that tells series apart without colours."""
    levels = drawn.levels.get(role, [])
    if len(levels) < 2:
        return {}
    scale = {"domain": levels, "range": [SHAPES[i % len(SHAPES)] for i in range(len(levels))]}
    legend = {"symbolOpacity": 1}
    return {"shape": {"field": role, "type": "nominal", "title": None, "scale": scale, "legend": legend}}


def rule(channel: str, place: float, dash: Sequence[int] = (4, 3)) -> Spec:
    """Return a layer with one line across a panel.

    Args:
        channel: `x` for a vertical line, `y` for a horizontal one.
        place: Where.
        dash: Lengths of its dashes and gaps in pixels.
    """
    mark = {"type": "rule", "color": SOFT, "strokeDash": list(dash), "aria": False}
    return {"data": {"values": [{"at": place}]}, "mark": mark, "encoding": {channel: quantity("at")}}


def quantity(field: str, like: Spec | None = None) -> Spec:
    """Return the encoding of a number, on the axis of another encoding if one is given."""
    return {**(like or {}), "field": field, "type": "quantitative"}
