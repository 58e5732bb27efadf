"""The published checkpoints of ultralytics: detectors and segmenters trained on COCO, assets of its releases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api.errors import BadModel, UnknownName

if TYPE_CHECKING:
    from .options import DetectOptions

RELEASE = "v8.4.0"

MIRROR_VARIABLE = "T2I_ULTRALYTICS_MIRROR"
"""Environment variable with the address of a folder with the release's files, instead of GitHub's."""

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


def local(argument: str) -> Path | None:
    """Return the path that an argument names, or None for the name of an asset. Raises UnknownName."""
    if argument.endswith(".pt") or Path(argument).name != argument:
        return Path(argument).expanduser()
    if argument not in NAMES:
        hint = "a file's name ends in .pt"
        raise UnknownName.among("detector or segmenter of ultralytics", argument, NAMES, hint)
    return None


def check(name: str, masks: bool) -> None:
    """Raise BadModel if masks are needed and an asset gives none."""
    if masks and name not in _SEGMENTERS:
        raise make_no_masks_error(name)


def make_no_masks_error(argument: str) -> BadModel:
    """Return the error for a checkpoint that gives no masks."""
    return BadModel(f"ultralytics:{argument}: it gives boxes but no masks; use ultralytics-detect:{argument}")


def url(name: str) -> str:
    """Return the address of an asset, at its publisher or in the user's mirror of the release."""
    published = f"https://github.com/ultralytics/assets/releases/download/{RELEASE}"
    return f"{os.environ.get(MIRROR_VARIABLE, published).rstrip('/')}/{name}.pt"


def fetch(argument: str, options: DetectOptions, offline: bool) -> Path:
    """Return a checkpoint's file; download a missing asset if that is allowed. Raises BadModel.

    ultralytics publishes no digests. Unless the user gives one, t2i records an asset's digest at the first
    download.
    """
    from t2i_torch_support import url_files
    from t2i_torch_support.weights import check_file

    if path := local(argument):
        return check_file(path, options.sha256, f"ultralytics:{argument}")
    spec, folder = f"ultralytics:{argument}", f"ultralytics/{RELEASE}"
    return url_files.fetch_from_url(url(argument), options.sha256, offline, spec, folder)


def pin_digest(argument: str, options: DetectOptions, offline: bool) -> DetectOptions:
    """Return an asset's options with its digest, which results depend on. Raises BadModel.

    The asset is downloaded if it is missing and may be downloaded, because its digest is not published.
    """
    from t2i_core.files.digest import digest_file

    return options.model_copy(update={"sha256": digest_file(fetch(argument, options, offline))})
