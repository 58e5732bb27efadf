"""Figures of a page: SVG that follows the theme of the page, with its width."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup
from t2i_core.api.errors import MissingDependency
from t2i_core.api.figure import Figure
from t2i_core.results.figures import draw_svg
from t2i_core.results.figures.look import follow_theme

_WIDTH = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)"')

WIDE = 640
"""A figure wider than this, in pixels, fills a whole row."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure as the page shows it.

    Attributes:
        svg: The SVG.
        width: Its width in pixels.
    """

    svg: Markup
    width: float

    @property
    def is_wide(self) -> bool:
        """True if it fills a whole row."""
        return self.width > WIDE


def draw_figure(figure: Figure, table: pd.DataFrame, name: str, faults: list[str]) -> DrawnFigure | None:
    """Return a figure as SVG for the page. If it cannot be drawn, add the reason to `faults` and return None.

    Args:
        figure: The figure.
        table: Its table.
        name: Its name in the reason.
        faults: Receives the reason, once.
    """
    try:
        svg = follow_theme(draw_svg(figure, table))
    except MissingDependency:
        fault = "figures are left out; to draw them: pip install 't2i-report[figures]'"
    except Exception as error:  # the figure may come from any plugin
        fault = f"the figure {name!r} is left out: {type(error).__name__}: {error}"
    else:
        found = _WIDTH.search(svg)
        return DrawnFigure(Markup(svg), float(found[1]) if found else 0.0)
    if fault not in faults:
        faults.append(fault)
    return None
