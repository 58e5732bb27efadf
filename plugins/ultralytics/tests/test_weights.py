"""On published weights: `pytest -m weights`, with a GPU or patience, and COCO's validation images.

T2I_COCO: a folder with `val2017` (images) and `annotations/instances_val2017.json`, as COCO publishes them; for a
first look a part of the images will do.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import JudgeInfo, Preset, Query, Setup
from t2i_core.api.image import load_image
from t2i_ultralytics import coco, plugin

pytestmark = pytest.mark.weights
OFFERED: Any = {offered.name: offered for offered in plugin.t2i_judges()}


def made(name: str, argument: str | None = None, **options: Any) -> tuple[JudgeInfo, Any]:
    offered = OFFERED[name]
    if isinstance(offered, Preset):
        argument, offered, options = offered.argument, OFFERED["ultralytics"], {**offered.options, **options}
    return offered, offered.create(Setup(argument, offered.options(**options)))


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("name", "argument", "published"),
    [
        # ultralytics' tables "Segmentation (COCO)": mAP of boxes and of masks, 50-95, on val2017 at 640 pixels
        ("yolov8x-seg", None, (0.534, 0.434)),
        ("yolo11x-seg", None, (0.547, 0.438)),
        # and "Detection (COCO)"
        ("ultralytics-detect", "yolo11n", (0.395, None)),
    ],
)
def test_accuracy_is_the_published_one(name: str, argument: str | None, published: Any) -> None:
    """Measured as published: every box down to 0.001, NMS 0.7 and masks as they are. Ours is a letterbox of each
    image to its own strides, theirs one for all images of a batch, and they keep several classes a box."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    if "T2I_COCO" not in os.environ:
        pytest.skip("wants COCO's validation images: set T2I_COCO")
    folder = Path(os.environ["T2I_COCO"])
    options = {"masks": "pixels"} if published[1] else {}
    _, judge = made(name, argument, conf=0.001, iou=0.7, **options)
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(folder / "annotations" / "instances_val2017.json"))
    category = {c["name"]: c["id"] for c in truth.loadCats(truth.getCatIds())}
    images = {file.stem: file for file in sorted((folder / "val2017").glob("*.jpg"))}
    queries = (Query((load_image(file),)) for file in images.values())
    found: list[dict[str, Any]] = []
    for query, answer in judge.observe("segment" if published[1] else "detect", queries):
        found += _as_coco(int(query.images[0].path.stem), answer, category)
    for kind, expected in zip(("bbox", "segm"), published, strict=True):
        if expected is None:
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            scores = COCOeval(truth, truth.loadRes(json.loads(json.dumps(found))), kind)
            scores.params.imgIds = [int(stem) for stem in images]
            scores.evaluate()
            scores.accumulate()
            scores.summarize()
        tolerance = 0.01 + (0 if len(images) == 5000 else 1 / np.sqrt(len(images)))
        assert scores.stats[0] == pytest.approx(expected, abs=tolerance), kind


def _as_coco(image: int, answer: Any, category: dict[str, int]) -> list[dict[str, Any]]:
    from pycocotools import mask as masks

    rows = []
    for i in range(len(answer)):
        x0, y0, x1, y1 = answer.boxes[i].tolist()
        row = {
            "image_id": image,
            "category_id": category[answer.label(i).name],
            "score": float(answer.scores[i]),
            "bbox": [x0, y0, x1 - x0, y1 - y0],
        }
        if hasattr(answer, "masks"):
            packed = masks.encode(np.asfortranarray(answer.mask(i).astype(np.uint8)))
            row["segmentation"] = {"size": packed["size"], "counts": packed["counts"].decode()}
        rows.append(row)
    return rows


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", ["yolov8x-seg", "yolo11x-seg"])
def test_the_librarys_own_picture(name: str) -> None:
    """The bus of Madrid that comes with ultralytics: one bus, and at least three people before it."""
    from t2i_ultralytics import library

    info, judge = made(name)
    assert info.labels is not None
    assert info.labels(name, info.options()) == coco.LABELS
    bus = Path(library.ultralytics.ASSETS) / "bus.jpg"
    ((_, answer),) = judge.observe("segment", [Query((load_image(bus),))])
    names = [answer.label(i).name for i in range(len(answer)) if answer.scores[i] > 0.5]
    assert names.count("bus") == 1
    assert names.count("person") >= 3
