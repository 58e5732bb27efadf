"""Figures that several analyses share."""

from __future__ import annotations

from t2i_core.api.figure import Columns, ForestPlot

RHO = "Spearman's rho"


def plot_correlations(label: str, colour: Columns) -> ForestPlot:
    """Return the `rho` of each row with its interval."""
    return ForestPlot(
        label=label, value="rho", colour=colour, reference=0, range=(-1, 1), title=RHO, hover=["p", "n"]
    )
