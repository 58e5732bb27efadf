"""The analyses of a run in Python: each a table with a figure, found by name and shown in notebooks."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..api.errors import BadOption, UnknownName
from ..api.figure import Figure, Mosaic
from ..api.resolver import Resolver, installed_resolver
from .analysis import analyze_run, list_metrics
from .chart import CONVERTER, Chart
from .figures import draw_svg, make_spec
from .run_view import show_text
from .table_format import format_table

if TYPE_CHECKING:
    import pandas as pd

    from .run import Run

MOST_ROWS = 12
"""Rows of a table that a notebook shows; `table` has all."""


@dataclass(frozen=True)
class RunAnalysis:
    """An analysis of a run.

    Attributes:
        metric: The metric, with the judges if the run measures it with several.
        name: Its name.
        summary: What it shows, in one line.
        table: Its table.
        figure: What is drawn; None if it has no figure.
    """

    metric: str
    name: str
    summary: str
    table: pd.DataFrame = field(repr=False)
    figure: Figure | None = field(default=None, repr=False)

    def plot(self) -> Chart:
        """Return the figure as a chart, which notebooks draw and files keep.

        Raises:
            BadOption: If it has no figure, or one made of images, which a notebook shows beside the table.
        """
        if self.figure is None or isinstance(self.figure, Mosaic):
            what = "no figure" if self.figure is None else "a figure made of images"
            raise BadOption(f"{self.metric}: the analysis {self.name!r} has {what}; its table is in .table")
        return Chart(make_spec(self.figure, self.table))

    def _repr_html_(self) -> str:
        """Return the figure and the first rows of the table."""
        more = len(self.table) - MOST_ROWS
        return "".join(
            [
                f"<p><strong>{show_text(self.metric)}: {show_text(self.name)}</strong><br>",
                f"{show_text(self.summary)}</p>",
                self._draw(),
                format_table(self.table, "html", MOST_ROWS),
                f"<p>and {more} more rows in .table</p>" if more > 0 else "",
            ]
        )

    def _draw(self) -> str:
        if self.figure is None or (find_spec(CONVERTER) is None and not isinstance(self.figure, Mosaic)):
            return ""
        data = base64.b64encode(draw_svg(self.figure, self.table).encode()).decode()
        return f'<img alt="{show_text(self.summary)}" src="data:image/svg+xml;base64,{data}"><br>'


class RunAnalyses(Mapping[str, RunAnalysis]):
    """The analyses of a run by name; with the metric before it (`tiam: seeds`) where several have the same name.

    Args:
        analyses: The analyses.
    """

    def __init__(self, analyses: list[RunAnalysis]) -> None:
        names = [each.name for each in analyses]
        self._by_name = {
            each.name if names.count(each.name) == 1 else f"{each.metric}: {each.name}": each for each in analyses
        }

    def __getitem__(self, name: str) -> RunAnalysis:
        if name not in self._by_name:
            raise UnknownName.among("analysis", name, self._by_name, f"the run has {', '.join(self._by_name)}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {each.summary}" for name, each in self._by_name.items()) or "no analyses"

    def _repr_html_(self) -> str:
        """Return the names with what they show."""
        lines = (f"<li><code>{show_text(n)}</code>: {show_text(a.summary)}</li>" for n, a in self._by_name.items())
        return f"<ul>{''.join(lines)}</ul>"


def analyze(run: Run, resolver: Resolver[Any] | None = None) -> RunAnalyses:
    """Return the analyses that the metrics of a finished run make of its stored tables.

    Args:
        run: The run.
        resolver: Finds the metrics. Default: the installed registry.
    """
    resolver = installed_resolver() if resolver is None else resolver
    found = analyze_run(run, list_metrics(run, resolver), resolver)
    return RunAnalyses([RunAnalysis(title, a.name, a.summary, a.table, a.figure) for title, a in found])
