"""Checks of the figures of analyses: they are drawn as commands draw them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ..api.figure import INTERVAL, DistributionPlot, Figure, Mosaic
from ..api.study import Analysis
from ..results.chart import CONVERTER, Chart
from ..results.figures import draw_svg, make_spec


def check_figure(analysis: Analysis) -> str:
    """Draw the figure of an analysis, and return the SVG; empty if vl-convert-python is not installed.

    Raises:
        AssertionError: If it cannot be drawn without warnings, has no marks although it has values, or leaves out
            intervals of its table.
    """
    figure, name = analysis.figure, analysis.name
    assert isinstance(figure, Figure), (
        f"the figure of {name!r} must be one of t2i_core.api.figure (got {figure!r})"
    )
    if isinstance(figure, Mosaic):
        return draw_svg(figure, analysis.table)
    table = analysis.table if figure.data is None else figure.data
    spec = make_spec(figure, analysis.table)
    records = json.loads(json.dumps(spec, allow_nan=False))["data"]["values"]
    if not isinstance(figure, DistributionPlot) and {*INTERVAL} <= {*table.columns}:
        known = any("low" in record or "x_low" in record for record in records)
        assert known or not records or getattr(figure, "stacked", False), f"{name!r} does not draw its intervals"
    if find_spec(CONVERTER) is None:
        return ""
    with _collect_errors() as said:
        svg = Chart(spec).to_svg()
    assert not said, f"the figure of {name!r} is drawn with warnings: {said[0]}"
    assert not records or 'class="mark-' in svg, f"the figure of {name!r} has no marks"
    return svg


@contextmanager
def _collect_errors() -> Iterator[list[str]]:
    """Collect what the converter, which is not Python code, writes to standard error."""
    said: list[str] = []
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said += [line for line in file.read().decode(errors="replace").splitlines() if line.startswith("WARN")]
