"""Options of the metric `tiam`."""

from __future__ import annotations

from pydantic import Field
from t2i_core.options import Options

from .references import REFERENCES, Lab


class TiamOptions(Options):
    """Thresholds and reference colours; the defaults are the paper's, and every bound is inclusive."""

    confidence: float = Field(0.25, ge=0, le=1, description="Detections below this confidence are not looked at.")
    overlap: float = Field(
        0.95, ge=0.5, le=1, description="Two masks of different classes with at least this IoU are both dropped."
    )
    colour_share: float = Field(
        0.40, gt=0, le=1, description="Share of an object's pixels that must be nearest to its colour."
    )
    references: dict[str, Lab] = Field(
        REFERENCES,
        min_length=1,
        max_length=255,
        description="Reference colours in CIELAB (D65); of equally near ones the first is taken.",
    )
