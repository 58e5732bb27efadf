"""The plugin: YOLO judges of ultralytics. Only the factories import ultralytics, torch, cv2 and numpy."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api import About, JudgeInfo, Loading, ObjectClass, Preset, Setup, hookimpl

from t2i_ultralytics import assets, coco
from t2i_ultralytics.options import DetectOptions, SegmentOptions

if TYPE_CHECKING:
    from t2i_core.api import Judge

_LIBRARY = "ultralytics"
_LICENCE = "AGPL-3.0 (ultralytics, its weights too); trained on COCO, whose images have their own licences"
_NOTES = (
    "ultralytics and its weights are AGPL-3.0 (or under a commercial licence): if you distribute software built "
    "with them, or offer it over a network, you must publish its source."
)
_CITATION = "Jocher, Chaurasia, Qiu: Ultralytics YOLO. https://github.com/ultralytics/ultralytics"
_ARGUMENT = "NAME of an asset of ultralytics ({}), or a FILE.pt that it saved"


@hookimpl
def t2i_judges() -> Iterable[JudgeInfo | Preset]:
    """Return the segmenter and the detector, and presets such as TIAM's."""
    return [
        JudgeInfo(
            name="ultralytics",
            summary="Segments objects with any segmenter of ultralytics.",
            argument=_ARGUMENT.format("yolov8x-seg"),
            needs_argument=True,
            options=SegmentOptions,
            capabilities={"segment": frozenset()},
            create=partial(_create, True),
            labels=_labels,
            floor="conf",
            loading=Loading(
                weights=_weights, check=partial(_check, True), resolve=partial(_pin, True), prefetch=_prefetch
            ),
            about=About(citation=_CITATION, licence=_LICENCE, notes=_NOTES),
        ),
        JudgeInfo(
            name="ultralytics-detect",
            summary="Detects objects with any detector or segmenter of ultralytics.",
            argument=_ARGUMENT.format("yolo11x"),
            needs_argument=True,
            options=DetectOptions,
            capabilities={"detect": frozenset()},
            create=partial(_create, False),
            labels=_labels,
            floor="conf",
            loading=Loading(
                weights=_weights,
                check=partial(_check, False),
                resolve=partial(_pin, False),
                prefetch=_prefetch,
            ),
            about=About(citation=_CITATION, licence=_LICENCE, notes=_NOTES),
        ),
        Preset(
            name="yolov8x-seg",
            summary="YOLOv8x-seg on COCO's 80 classes: TIAM's segmenter, with its NMS and masks.",
            of="t2i-ultralytics/ultralytics",
            argument="yolov8x-seg",
            options={"iou": 0.8, "masks": "largest"},
            about=_describe_quality("53.4", "43.4"),
        ),
        Preset(
            name="yolo11x-seg",
            summary="YOLO11x-seg on COCO's 80 classes.",
            of="t2i-ultralytics/ultralytics",
            argument="yolo11x-seg",
            about=_describe_quality("54.7", "43.8"),
        ),
    ]


def _describe_quality(boxes: str, masks: str) -> About:
    return About(
        quality=f"On photographs (COCO val2017, 640 pixels) mAP 50-95 is {boxes} for boxes and {masks} for "
        "masks, as ultralytics publishes it. Not measured on generated images.",
        limits="Knows COCO's 80 classes only, as they look in photographs.",
        memory_gb=6.0,
    )


def _create(masks: bool, setup: Setup[Any]) -> Judge:
    from t2i_ultralytics import checkpoints
    from t2i_ultralytics.detector import Yolo

    network, facts, file = checkpoints.load(_get_argument(setup), setup.options, masks, setup.offline)
    return Yolo(network, facts, file, setup)


def _labels(argument: str | None, options: DetectOptions) -> tuple[ObjectClass, ...]:
    file = assets.local(argument or "")
    if file is None:  # spares the import of ultralytics
        return coco.LABELS
    from t2i_ultralytics import checkpoints

    return coco.classes(checkpoints.read_facts(file, argument or "").names)


def _weights(argument: str | None, options: DetectOptions) -> Iterable[Path | str]:
    return [assets.local(argument or "") or options.sha256 or assets.url(argument or "")]


def _check(masks: bool, setup: Setup[DetectOptions]) -> None:
    from t2i_torch_support.device import check_device

    check_device(setup.device)
    if assets.local(_get_argument(setup)) is None:
        assets.check(_get_argument(setup), masks)
        if not setup.offline:
            return  # spares the import of ultralytics
        assets.fetch(_get_argument(setup), setup.options, offline=True)
        if setup.dry:
            return
    from t2i_ultralytics import checkpoints

    checkpoints.check(_get_argument(setup), setup.options, masks)


def _pin(masks: bool, setup: Setup[DetectOptions]) -> DetectOptions:
    if setup.options.sha256 or assets.local(_get_argument(setup)):
        return setup.options  # spares the import of ultralytics
    assets.check(_get_argument(setup), masks)
    if importlib.util.find_spec(_LIBRARY) is None:  # before a file is downloaded for it
        raise ModuleNotFoundError(f"No module named {_LIBRARY!r}", name=_LIBRARY)
    return assets.pin_digest(_get_argument(setup), setup.options, setup.offline)


def _prefetch(setup: Setup[DetectOptions]) -> None:
    assets.fetch(_get_argument(setup), setup.options, setup.offline)


def _get_argument(setup: Setup[DetectOptions]) -> str:
    """Return the argument, which the registry guarantees."""
    assert setup.argument is not None
    return setup.argument
