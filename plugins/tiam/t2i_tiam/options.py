"""Options of `tiam`, `object-cosine` and `object-attention`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from t2i_core.api.options import BoundedOptions, ExecutionOption, Options

from .references import REFERENCES, Lab


class TiamOptions(BoundedOptions):
    """Options of `tiam`; the defaults are the paper's, and every bound is inclusive."""

    confidence: float = Field(0.25, ge=0, le=1, description="Minimum confidence of a detection.")
    overlap: float = Field(
        0.95, ge=0.5, le=1, description="IoU from which two masks of different classes are both dropped."
    )
    colour_share: float = Field(
        0.40, gt=0, le=1, description="Minimum share of an object's pixels that are nearest to its colour."
    )
    references: dict[str, Lab] = Field(
        REFERENCES,
        min_length=1,
        max_length=255,
        description="Reference colours in CIELAB (D65), by name; a tie goes to the first.",
    )
    mined: Annotated[int | None, ExecutionOption()] = Field(
        None,
        ge=1,
        description="Analyses: number of best seeds to test on held-out prompts; default: an eighth of the seeds.",
    )
    held_out: Annotated[float, ExecutionOption()] = Field(
        0.5, gt=0, lt=1, description="Analyses: share of the prompts to hold out for this test."
    )


class ObjectCosineOptions(Options):
    """Options of `object-cosine`."""

    text: Literal["sentence", "label"] = Field(
        "sentence", description="Text to embed for an object: `sentence` (a photo of a car) or `label` (car)."
    )


class ObjectAttentionOptions(Options):
    """Options of `object-attention`."""

    tokens: Literal["mean", "first", "last"] = Field(
        "mean",
        description="Vector of an object whose name has several tokens: their mean, the first, or the last.",
    )
