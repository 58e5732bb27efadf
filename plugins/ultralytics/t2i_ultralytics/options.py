"""Options of the detectors and segmenters, with the library's names and defaults where it has them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from t2i_core.api import Options


class DetectOptions(Options):
    """Options of every checkpoint."""

    conf: float = Field(
        0.05,
        ge=0.001,
        le=1,
        description="Lowest confidence of detections that are stored. Metrics apply their own, higher thresholds.",
    )
    iou: float = Field(
        0.7,
        ge=0,
        le=1,
        description="NMS threshold: of two boxes of one class with a larger IoU, only the more confident one "
        "stays. TIAM: 0.8.",
    )
    max_det: int = Field(300, ge=1, le=3000, description="Maximum number of detections per image.")
    imgsz: int = Field(640, ge=32, multiple_of=32, description="Longer side of the network's input in pixels.")
    dtype: Literal["float32", "float16"] = Field("float32", description="Precision of the network.")
    sha256: str | None = Field(
        None,
        pattern="^[0-9a-f]{64}$",
        description="Expected SHA-256 of the checkpoint file. Default for an asset: the SHA-256 at its first "
        "download.",
    )


class SegmentOptions(DetectOptions):
    """Options of segmenters."""

    masks: Literal["largest", "all", "pixels"] = Field(
        "largest",
        description="largest: the filled outline with the most points, as in TIAM. all: the filled outlines of "
        "all parts, joined by lines, as in the library's current polygons. pixels: the mask "
        "itself.",
    )
