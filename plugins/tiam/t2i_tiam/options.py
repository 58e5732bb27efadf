"""Options of the metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from t2i_core.api.options import ExecutionOption, Options

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
    mined: Annotated[int | None, ExecutionOption()] = Field(
        None,
        ge=1,
        description="Analyses: so many best seeds are tried on other prompts; default: an eighth of them.",
    )
    held_out: Annotated[float, ExecutionOption()] = Field(
        0.5, gt=0, lt=1, description="Analyses: share of the prompts on which they are tried."
    )


class ObjectCosineOptions(Options):
    """Options of `object-cosine`."""

    text: Literal["sentence", "label"] = Field(
        "sentence", description="What is embedded. sentence: a photo of a car. label: car."
    )
