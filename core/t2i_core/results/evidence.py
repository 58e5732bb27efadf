"""Evidence for a sample's value: the lines of a run's evidence.jsonl."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .typed import Count, Number, Seed, Typed

Box = Annotated[list[Number], Field(min_length=4, max_length=4)]


class Segmentation(Typed):
    """A mask as COCO's uncompressed run-length encoding."""

    size: Annotated[list[Count], Field(min_length=2, max_length=2)] = Field(description="height, width in pixels")
    counts: list[Count] = Field(description="lengths of runs, column by column, beginning with pixels outside")


class EvidenceRegion(Typed):
    """A part of an image."""

    label: str = Field(description="what it shows")
    box: Box | None = Field(None, description="`[x0, y0, x1, y1]` in pixels, or null")
    segmentation: Segmentation | None = Field(None, description='`{"size", "counts"}`: the exact mask, or null')
    seed: Seed | None = Field(None, description="the image's seed, in a row about several; else null")
    model: str | None = Field(None, description="label of the image's model, in a row about two; else null")


class EvidenceRow(Typed):
    """A measured value with the parts of the image that explain it."""

    metric: str = Field(description="the metric")
    by: str | None = Field(
        None,
        description="present if the run measures the metric with several judges: those of this value",
        exclude_if=lambda by: by is None,
    )
    models: list[str] = Field(description="labels of its model, or of the two models of a pair")
    prompt: str = Field(description="the prompt's id")
    seed: Seed | None = Field(description="the seed; null in a row about several samples")
    measure: str = Field(description="what was measured")
    value: Number = Field(description="the measured value")
    because: str = Field(description="why, in words; may be empty")
    regions: list[EvidenceRegion] = Field(description="the parts of the image")
