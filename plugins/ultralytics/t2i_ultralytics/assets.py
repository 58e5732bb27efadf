"""What ultralytics publishes: detectors and segmenters trained on COCO, as assets of its releases."""

from __future__ import annotations

RELEASE = "v8.4.0"

_SEGMENTERS = (
    *(f"{family}{size}-seg" for family in ("yolov8", "yolo11", "yolo26") for size in "nsmlx"),
    "yolov9c-seg",
    "yolov9e-seg",
)
_DETECTORS = (
    *(f"{family}{size}" for family in ("yolov8", "yolo11", "yolo12", "yolo26") for size in "nsmlx"),
    *(f"yolov5{size}u" for size in "nsmlx"),
    *(f"yolov9{size}" for size in "tsmce"),
    *(f"yolov10{size}" for size in "nsmblx"),
)
NAMES = (*_SEGMENTERS, *_DETECTORS)


def gives_masks(name: str) -> bool:
    """Whether an asset is a segmenter."""
    return name in _SEGMENTERS


def url(name: str) -> str:
    """Return where an asset is published."""
    return f"https://github.com/ultralytics/assets/releases/download/{RELEASE}/{name}.pt"
