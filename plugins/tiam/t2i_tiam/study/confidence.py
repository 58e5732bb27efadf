"""The score as a function of the minimum confidence of detections (paper: Figure 17)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from t2i_core.api.figure import LinePlot
from t2i_core.api.study import Analysis

from ..spans import read_spans
from .intervals import describe_intervals, share
from .tables import Tables

GRID = [step / 100 for step in range(5, 100, 5)]


def confidence_sweep(tables: Tables, own: float, floor: float | None) -> Iterator[Analysis]:
    """Yield the score at each confidence threshold, computed from the column `holds_at`.

    Args:
        tables: The measured rows.
        own: The run's own threshold.
        floor: Confidence below which the run's judge stores no detections, so that scores at lower thresholds are
            unknown. If None, the curve begins at the run's own threshold.
    """
    images = tables.images
    if ((images["value"] == 1) & images["holds_at"].isna()).any():  # rows of older versions lack the column
        return
    lines: list[dict[str, Any]] = []
    lowest = own if floor is None else floor
    grid = sorted({own, *(confidence for confidence in GRID if confidence >= lowest)} - {0})
    for model in tables.models:
        for kind in tables.kinds:
            rows = images[(images["model"] == model) & (images["kind"] == kind)]
            if rows.empty:
                continue
            for confidence, values in zip(grid, evaluate_spans(rows["holds_at"], grid).T, strict=True):
                found = share(rows.assign(tiam=values), "tiam", tables.interval)
                lines.append({"model": model, "kind": kind, "confidence": confidence, **found})
    table = pd.DataFrame(lines)
    summary = (
        f"TIAM at other confidence thresholds (the run's own is {own:g}{_describe_floor(floor)}); "
        f"{describe_intervals(tables.question)}"
    )
    figure = LinePlot(
        x="confidence", y="tiam", colour="model", facet="kind", at=own, y_range=(0, 1),
        note="dotted: the run's own threshold",
    )  # fmt: skip
    yield Analysis("confidence", summary, table, figure)


def _describe_floor(floor: float | None) -> str:
    if floor is None:
        return "; lower ones are left out, because the judge's lowest confidence is unknown"
    return f"; its judge stores no detections below {floor:g}" if floor else ""


def evaluate_spans(spans: pd.Series, grid: list[float]) -> NDArray[np.float64]:
    """Return the value of `tiam` of each image at each confidence threshold.

    Args:
        spans: The column `holds_at`.
        grid: The thresholds.

    Returns:
        float64 of shape (images, thresholds), 0 or 1.
    """
    at = np.array(grid)
    codes, texts = pd.factorize(spans.fillna(""))
    known = np.zeros((len(texts), len(grid)))
    for i, text in enumerate(texts):
        for low, high in read_spans(text):
            known[i, (low < at) & (at <= high)] = 1
    return known[codes]
