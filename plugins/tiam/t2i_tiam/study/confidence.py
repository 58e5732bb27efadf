"""The score against the confidence that a detection must have (paper: Figure 17)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.study import Analysis

from ..spans import read_spans
from .drawing import series
from .intervals import said, share
from .tables import Tables

GRID = [step / 100 for step in range(5, 100, 5)]


def confidence_sweep(tables: Tables, own: float, floor: float | None) -> Iterator[Analysis]:
    """Yield the score at each confidence, from what the rows say of their images.

    own:    the run's
    floor:  below it the judge keeps nothing, so nobody knows the score there; None: not known, the run's own is
            surely not below it
    """
    images = tables.images
    if ((images["value"] == 1) & images["holds_at"].isna()).any():  # measured before rows said so
        return
    lines: list[dict[str, Any]] = []
    least = own if floor is None else floor
    grid = sorted({own, *(confidence for confidence in GRID if confidence >= least)} - {0})
    for model in tables.models:
        for kind in tables.kinds:
            rows = images[(images["model"] == model) & (images["kind"] == kind)]
            if rows.empty:
                continue
            for confidence, values in zip(grid, holds(rows["holds_at"], grid).T, strict=True):
                found = share(rows.assign(tiam=values), "tiam", tables.interval)
                lines.append({"model": model, "kind": kind, "confidence": confidence, **found})
    table = pd.DataFrame(lines)
    summary = (
        f"TIAM if detections had to have this confidence (the run's own is {own:g}{_begins(floor)}); "
        f"{said(tables.question)}"
    )
    yield Analysis("confidence", summary, table, partial(_draw, table, own))


def _begins(floor: float | None) -> str:
    if floor is None:
        return "; what its judge keeps below is not known"
    return f"; its judge keeps nothing below {floor:g}" if floor else ""


def holds(spans: pd.Series, grid: list[float]) -> NDArray[np.float64]:
    """Return whether each image is right at each confidence: float64 of shape (images, confidences)."""
    at = np.array(grid)
    codes, texts = pd.factorize(spans.fillna(""))
    known = np.zeros((len(texts), len(grid)))
    for i, text in enumerate(texts):
        for low, high in read_spans(text):
            known[i, (low < at) & (at <= high)] = 1
    return known[codes]


def _draw(table: pd.DataFrame, own: float, axes: Any) -> None:
    series(table, "confidence", "tiam", axes)
    axes.axvline(own, color="grey", linewidth=1, linestyle=":")
    axes.set_ylim(-0.02, 1.02)
