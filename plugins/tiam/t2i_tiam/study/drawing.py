"""What the figures share: heat maps, and bars in groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

MOST_LABELS = 400
"""So many cells have their value written in them."""


def heat_map(
    grid: pd.DataFrame, label: str, axes: Any, low: float = 0, high: float = 1, text: str = "{:.2f}"
) -> None:
    """Draw a table of numbers, its rows and columns named; NaN stays empty."""
    rows, columns = grid.shape
    axes.figure.set_size_inches(max(5, 2.5 + 0.55 * columns), max(3, 1.5 + 0.32 * rows))
    shown = axes.imshow(
        np.ma.masked_invalid(grid.to_numpy(float)), vmin=low, vmax=high, cmap="viridis", aspect="auto"
    )
    names = [str(name) for name in grid.columns]
    turned = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 3 else {}
    axes.set_xticks(range(columns), names, fontsize=8, **turned)
    axes.set_yticks(range(rows), [str(name) for name in grid.index], fontsize=8)
    if grid.size <= MOST_LABELS:
        for (y, x), value in np.ndenumerate(grid.to_numpy(float)):
            if np.isfinite(value):
                dark = value < (low + high) / 2
                axes.text(
                    x, y, text.format(value), ha="center", va="center", fontsize=7, color="w" if dark else "k"
                )
    axes.figure.colorbar(shown, ax=axes, label=label)


def bars(
    grid: pd.DataFrame, label: str, axes: Any, low: pd.DataFrame | None = None, high: pd.DataFrame | None = None
) -> None:
    """Draw a group of bars for each row, one for each column; with error bars where ends are given."""
    groups, columns = grid.shape
    width = 0.8 / columns
    axes.figure.set_size_inches(max(6.4, 2 + 0.4 * grid.size), 4.8)
    for i, name in enumerate(grid.columns):
        places = np.arange(groups) - 0.4 + width * (i + 0.5)
        ends = None
        if low is not None and high is not None:
            ends = np.clip([grid[name] - low[name], high[name] - grid[name]], 0, None)
        axes.bar(places, grid[name], width, yerr=ends, capsize=2, label=str(name))
    axes.set_xticks(range(groups), [str(name) for name in grid.index], rotation=30 if groups > 4 else 0)
    axes.set_ylabel(label)
    axes.set_ylim(0, 1.02)
    if columns > 1:
        axes.legend(fontsize=8, loc="lower left")


def series(table: pd.DataFrame, x: str, y: str, by: str, axes: Any, low: str = "low", high: str = "high") -> None:
    """Draw a line with its band for each level of a column."""
    for name, own in table.groupby(by, sort=False):
        (line,) = axes.plot(own[x], own[y], marker="o", markersize=3, label=str(name))
        axes.fill_between(own[x], own[low], own[high], color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if table[by].nunique() > 1:
        axes.legend(fontsize=8)


def named(model: str, kind: str, models: int, kinds: int) -> str:
    """What tells a series apart, and no more."""
    parts = [part for part, many in ((model, models > 1), (kind, kinds > 1)) if many]
    return ", ".join(parts) or model
