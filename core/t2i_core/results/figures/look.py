"""The look of all figures: colours, sizes and fonts, and SVG that follows the theme of the page around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b8508f", "#3b3b3b", "#8a2be2", "#16107a", "#7a1a10")
"""Colours of series, after Okabe and Ito, extended so that people with each colour blindness tell them apart; each
has a contrast of at least 3 to white."""

DARK_PALETTE = ("#5aa9e6", "#ff8a4c", "#35c998", "#e59ccb", "#f2f23a", "#8a6cf0", "#4a9a74", "#c060ac")
"""The same series on a dark page."""

TEXT, SOFT, GRID, PAGE = "#1b1b1a", "#57564e", "#dcdbd3", "#fefefe"
DARK_TEXT, DARK_SOFT, DARK_GRID = "#f0efe9", "#b9b7ac", "#45443f"

WIDTH, PANEL = 440, 260
"""Width of a figure's only panel, and of each of several panels, in pixels."""

HEIGHT, PANEL_HEIGHT = 280, 210

ROW = 18
"""Height of a row of labels, in pixels."""

MOST_LABELS = 150
"""Maximum number of labels along an axis; with more levels an axis has none, and a fixed length."""

LONGEST_LABEL = 240
"""Maximum length of a label, in pixels; longer ones end in an ellipsis."""

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)

_ROLES: Mapping[str, tuple[str, str]] = {
    "text": (TEXT, DARK_TEXT),
    "soft": (SOFT, DARK_SOFT),
    "grid": (GRID, DARK_GRID),
    **{f"c{i}": pair for i, pair in enumerate(zip(PALETTE, DARK_PALETTE, strict=True))},
}

CONFIG: Mapping[str, Any] = {
    "background": PAGE,
    "font": "system-ui, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": SOFT,
        "gridColor": GRID,
        "tickColor": SOFT,
        "labelColor": TEXT,
        "titleColor": TEXT,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": LONGEST_LABEL,
        "titleLimit": 420,
    },
    "legend": {
        "labelColor": TEXT,
        "titleColor": TEXT,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelLimit": LONGEST_LABEL,
        "symbolLimit": MOST_LABELS,
    },
    "header": {
        "labelColor": TEXT,
        "labelFontSize": 11,
        "labelLimit": LONGEST_LABEL,
        "titleColor": TEXT,
    },
    "title": {
        "color": SOFT,
        "fontSize": 11,
        "fontWeight": "normal",
        "anchor": "start",
        "frame": "group",
        "limit": 900,
    },
    "range": {"category": list(PALETTE)},
}
"""Vega-Lite configuration of every figure."""


def _write_variables(index: int) -> str:
    return "".join(f"--figure-{role}:{colours[index]};" for role, colours in _ROLES.items())


PAGE_STYLE = (
    f":root{{{_write_variables(0)}}}\n@media (prefers-color-scheme:dark){{:root{{{_write_variables(1)}}}}}\n"
    ".figure{display:block;max-width:100%;height:auto;margin:.5rem 0;}\n"
)
"""The style that a page needs to show SVG of `follow_theme`."""

_COLOURS = {light: f"var(--figure-{role},{light})" for role, (light, _) in _ROLES.items()} | {PAGE: "none"}
_PAINT = re.compile(rf'(fill|stroke)="({"|".join(_COLOURS)})"')
_MARK = re.compile(r'(<(path|text|image)\b[^>]*? aria-label="([^"]*)" role="graphics-symbol"[^>]*?)(/>|></\2>)')


def follow_theme(svg: str) -> str:
    """Return SVG for the HTML of a page: it has the page's colours, light or dark, and its marks say their values.

    The page needs `PAGE_STYLE`. Without scripts, a browser shows the values of a mark under the pointer.
    """
    painted = _PAINT.sub(lambda found: f'{found[1]}="{_COLOURS[found[2]]}"', svg)
    painted = _MARK.sub(r"\1><title>\3</title></\2>", painted)
    return re.sub(r"^<svg\b", '<svg class="figure"', painted, count=1)


def assign_colours(levels: list[str], colours: Mapping[str, str]) -> Iterator[str]:
    """Yield the colour of each level: its own, or the next of the palette, which begins again after its last."""
    for i, level in enumerate(levels):
        yield colours.get(level, PALETTE[i % len(PALETTE)])
