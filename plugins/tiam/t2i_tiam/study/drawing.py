"""Heat maps and line plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

MOST_LABELS = 400
"""Maximum number of cells of a heat map that shows its values as text."""

FEW = 4
"""Maximum number of lines of a plot that shows their intervals."""

DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D")


def draw_heat_map(
    grid: pd.DataFrame, label: str, axes: Any, low: float = 0, high: float = 1, text: str = "{:.2f}"
) -> None:
    """Draw a table of numbers as a heat map with labelled rows and columns; cells with NaN stay empty."""
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
    axes.figure.colorbar(shown, ax=axes)
    axes.set_title(label, fontsize=10)  # a label at the colour bar would be cut off in low figures


def draw_series(table: pd.DataFrame, x: str, y: str, axes: Any, kind: str = "kind") -> None:
    """Draw one line per model and kind: colours distinguish kinds, and dashes models.

    The intervals (columns `low` and `high`) are drawn as bands if there are at most `FEW` lines.
    """
    models, kinds = list(table["model"].unique()), list(table[kind].unique())
    groups = list(table.groupby(["model", kind], sort=False))
    by_kind = len(kinds) > 1
    for (model, of), own in groups:
        (line,) = axes.plot(
            own[x],
            own[y],
            color=f"C{kinds.index(of) if by_kind else models.index(model)}",
            linestyle=DASHES[models.index(model) % len(DASHES)] if by_kind else "-",
            marker=MARKERS[models.index(model) % len(MARKERS)],
            markersize=4,
            label=label_series(str(model), str(of), len(models), len(kinds)),
        )
        if len(groups) <= FEW:
            axes.fill_between(own[x], own["low"], own["high"], color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if len(groups) > FEW:
        axes.figure.set_size_inches(9, 4.8)
        axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    elif len(groups) > 1:
        axes.legend(fontsize=8)


def label_series(model: str, kind: str, models: int, kinds: int) -> str:
    """Return the label of a line: the model and the kind, each only if there are several."""
    parts = [part for part, many in ((model, models > 1), (kind, kinds > 1)) if many]
    return ", ".join(parts) or model
