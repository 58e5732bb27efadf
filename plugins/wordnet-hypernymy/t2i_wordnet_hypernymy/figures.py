"""Figures that several analyses share, each on one Axes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

RHO = "Spearman's rho"

NAMED = 40
"""Rows and columns are named as long as there are so many at most: more names would hide each other."""


def heat(values: pd.DataFrame, what: str, low: float, axes: Any) -> None:
    """Colour each of a frame's cells by its value, low to 1; white where there is none. what: that it is."""
    drawn = axes.imshow(values, cmap="RdYlBu" if low < 0 else "viridis", vmin=low, vmax=1, aspect="auto")
    axes.figure.colorbar(drawn, ax=axes, label=what)
    of = (values.index, values.columns)
    rows, columns = ([str(name) for name in names] if len(names) <= NAMED else [] for names in of)
    axes.set_yticks(range(len(rows)), rows, fontsize=6)
    axes.set_xticks(range(len(columns)), columns, fontsize=6, rotation=30, ha="right")


def rhos(table: pd.DataFrame, column: str, by: Hashable | list[str], axes: Any) -> None:
    """A bar for each line's `rho`: a group for each name in a column, a colour for each of `by`."""
    names = list(dict.fromkeys(table[column]))
    groups = list(table.groupby(by, sort=False))
    height = 0.8 / len(groups)
    for i, (name, own) in enumerate(groups):
        places = [names.index(of) + (i + 0.5) * height - 0.4 for of in own[column]]
        label = " - ".join(name) if isinstance(name, tuple) else name
        axes.barh(places, own["rho"], height, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="grey", linewidth=1)
    axes.set_xlim(-1, 1)
    axes.set_xlabel(RHO)
    axes.legend()
