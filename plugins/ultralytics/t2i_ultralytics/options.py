"""Options of the detectors and segmenters; names and defaults are the library's own wherever it has them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class DetectOptions(Options):
    """What every checkpoint takes."""

    conf: float = Field(
        0.05,
        ge=0.001,
        le=1,
        description="Detections below this confidence are not kept: the lowest threshold that a metric may ask "
        "for. Thresholds themselves are the metric's.",
    )
    iou: float = Field(
        0.7,
        ge=0,
        le=1,
        description="NMS: of two boxes of one class that overlap by more, the surer one stays. TIAM: 0.8.",
    )
    max_det: int = Field(300, ge=1, le=3000, description="At most so many detections an image, the surest.")
    imgsz: int = Field(
        640, ge=32, multiple_of=32, description="The longer side of what the network is shown, in pixels."
    )
    dtype: Literal["float32", "float16"] = Field("float32", description="Precision of the network.")
    sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="What the checkpoint's file must have as SHA-256; of an asset, none: what it "
        "had when it was first fetched.",
    )


class SegmentOptions(DetectOptions):
    """What segmenters take beyond."""

    masks: Literal["largest", "all", "pixels"] = Field(
        "largest",
        description="largest: of a mask's outlines the one of most points, filled, as TIAM took it. all: the "
        "outlines of all parts, joined by lines, filled, as the library gives polygons today. pixels: the mask "
        "itself.",
    )
