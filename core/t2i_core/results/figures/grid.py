"""Heat maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...api.figure import HeatMap
from ..table_format import title_column
from .data import Drawn, collect
from .look import LONGEST_LABEL, MOST_LABELS, TEXT
from .spec import HOVER, Spec, finish, row_axis, wrap_title

if TYPE_CHECKING:
    import pandas as pd

MOST_TEXTS = 400
"""Maximum number of cells of a figure whose values are written into them."""

MOST_INTERVALS = 160
"""Maximum number of cells whose intervals are written too."""

MOST_MARKS = 2500
"""Maximum number of cells that say their values under the pointer."""

INKS = ("#000000", "#ffffff")
"""Colours of the text in a cell."""

PALE = 0.25
"""Opacity of a pale cell, whose text has the colour of the page's texts."""

LETTER = 6.5
"""Width of a letter of a label, in pixels."""

FEW_COLUMNS, MOST_WIDTH = 5, 110
"""A map of at most five columns has columns as wide as their labels, but at most 110 pixels."""

LEAST = 0.35
"""Side of a cell whose interval spans the whole range, as a share of the largest."""


def draw_heat_map(chart: HeatMap, table: pd.DataFrame) -> Spec:
    """Return the specification of a heat map."""
    low, high = chart.interval
    drawn = collect(
        table,
        {"value": chart.value},
        {"low": low, "high": high, "pale": chart.pale},
        {"x": chart.x, "y": chart.y, "facet": chart.facet},
        chart.hover,
    )
    found = drawn.extent("value")
    ends = [found[i] if end is None else end for i, end in enumerate(chart.range)]
    if chart.diverging and chart.range == (None, None):
        most = max(map(abs, ends))
        ends = [-most, most]
    cells = len(drawn.records)
    known = drawn.has("low")
    texts = cells <= MOST_TEXTS
    both = texts and known and cells <= MOST_INTERVALS
    longest = max(map(len, drawn.levels["x"]), default=0)
    room = min(LETTER * longest, MOST_WIDTH) if drawn.count("x") <= FEW_COLUMNS else 0
    width, height = max(64 if both else 40 if texts else 22, room), 30 if both else 20
    y, tall = row_axis(drawn, "y", wrap_title(chart.y_title or title_column(_first(chart.y))), each=height)
    x, wide = _column_axis(chart, drawn, width)
    y["axis"] |= {"grid": False}
    for record in drawn.records:
        _describe_cell(record, chart, ends, both)
    legend = {"title": chart.title or title_column(chart.value), "gradientLength": 140}
    scheme = "purpleorange" if chart.diverging else "viridis"
    colour = {"field": "value", "type": "quantitative", "legend": legend}
    colour["scale"] = {"domain": ends, "scheme": scheme, "clamp": True, "zero": False}
    hover = HOVER if cells <= MOST_MARKS else {}
    mark: Spec = {"type": "rect", "aria": cells <= MOST_MARKS}
    encoding: Spec = {"x": x, "y": y, "color": colour, **hover}
    if chart.pale is not None:
        encoding["opacity"] = {"condition": {"test": "datum.pale", "value": PALE}, "value": 1}
    if known and not texts and isinstance(tall, dict) and isinstance(wide, dict):
        # the wider the interval, the smaller the cell
        for record in drawn.records:
            record["area"] = record["sure"] * (height - 2) ** 2
        mark = {"type": "square", "opacity": 1, "aria": cells <= MOST_MARKS}
        encoding["size"] = {"field": "area", "type": "quantitative", "scale": None}
    layers: list[Spec] = [{"mark": mark, "encoding": encoding}]
    if texts:
        layers += _write_texts("text", x, y, -5 if both else 0, 11)
    if both:
        layers += _write_texts("ends", x, y, 8, 8)
    note = chart.note
    if "size" in encoding:
        note = f"{note}; " if note else ""
        note += "a smaller cell has a wider interval"
    return finish(drawn, layers, {"width": wide, "height": tall}, note)


def _first(columns: str | tuple[str, ...]) -> str:
    return columns if isinstance(columns, str) else ", ".join(columns)


def _column_axis(chart: HeatMap, drawn: Drawn, each: float) -> tuple[Spec, Any]:
    levels = drawn.levels["x"]
    turned = max(map(len, levels), default=0) * LETTER > each
    axis: Spec = {"grid": False, "ticks": False, "domain": False, "labelLimit": LONGEST_LABEL}
    axis |= {"labelAngle": -45 if turned else 0}
    wide: Any = {"step": each}
    if len(levels) > MOST_LABELS:
        axis |= {"labels": False}
        wide = 900
    title = wrap_title(chart.x_title or title_column(_first(chart.x)))
    encoding = {"field": "x", "type": "nominal", "title": title, "sort": None, "axis": axis}
    return {**encoding, "scale": {"domain": levels}}, wide


def _describe_cell(record: dict[str, Any], chart: HeatMap, ends: list[float], both: bool) -> None:
    """Add the texts of a cell, the colour of its texts, and how sure its value is."""
    low, high, span = record.get("low"), record.get("high"), (ends[1] - ends[0]) or 1.0
    place = (record["value"] - ends[0]) / span
    record["text"] = f"{record['value']:.{chart.digits}f}"
    light = abs(place - 0.5) > 0.36 if chart.diverging else place < 0.6
    record["ink"] = TEXT if record.get("pale") else INKS[light]
    if low is not None and high is not None:
        width = min(1.0, abs(high - low) / span)
        record["sure"] = (1 - (1 - LEAST) * width) ** 2
        if both:
            record["ends"] = f"{low:.{chart.digits}f}–{high:.{chart.digits}f}"
    else:
        record["sure"] = 1.0


def _write_texts(field: str, x: Spec, y: Spec, dy: int, size: int) -> list[Spec]:
    """Return the layers with a text in each cell, light on dark cells, dark on light ones, and as the page on pale
    ones."""
    return [
        {
            "transform": [{"filter": f"isValid(datum.{field}) && datum.ink == '{ink}'"}],
            "mark": {"type": "text", "fontSize": size, "dy": dy, "color": ink, "aria": False},
            "encoding": {"x": x, "y": y, "text": {"field": field, "type": "nominal"}},
        }
        for ink in (*INKS, TEXT)
    ]
