"""Figures that several analyses share, each drawn on one Axes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

RHO = "Spearman's rho"

NAMED = 40
"""Maximum number of rows or columns to label; more labels would overlap."""


def draw_heatmap(values: pd.DataFrame, label: str, low: float, axes: Any) -> None:
    """Draw each cell of a frame in the colour of its value, from `low` to 1; missing values stay white.

    Args:
        values: The values to draw.
        label: Label of the colour bar.
        low: Lower end of the colours.
        axes: The matplotlib Axes.
    """
    drawn = axes.imshow(values, cmap="RdYlBu" if low < 0 else "viridis", vmin=low, vmax=1, aspect="auto")
    axes.figure.colorbar(drawn, ax=axes, label=label)
    of = (values.index, values.columns)
    rows, columns = ([str(name) for name in names] if len(names) <= NAMED else [] for names in of)
    axes.set_yticks(range(len(rows)), rows, fontsize=6)
    axes.set_xticks(range(len(columns)), columns, fontsize=6, rotation=30, ha="right")


def draw_correlations(table: pd.DataFrame, column: str, by: Hashable | list[str], axes: Any) -> None:
    """Draw a bar for the `rho` of each row with its interval, grouped by `column` and coloured by `by`."""
    names = list(dict.fromkeys(table[column]))
    groups = list(table.groupby(by, sort=False))
    height = 0.8 / len(groups)
    for i, (name, own) in enumerate(groups):
        places = [names.index(of) + (i + 0.5) * height - 0.4 for of in own[column]]
        label = " - ".join(name) if isinstance(name, tuple) else name
        ends = [(own["rho"] - own["low"]).fillna(0), (own["high"] - own["rho"]).fillna(0)]
        axes.barh(places, own["rho"], height, label=label, xerr=ends, capsize=2)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=1)
    axes.set_xlim(-1, 1)
    axes.set_xlabel(RHO)
    axes.legend()
