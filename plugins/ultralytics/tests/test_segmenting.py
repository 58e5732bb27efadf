"""What the judge says: where things are, as the library itself says it, and the same in any company."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import Detections, Failure, Query, Segments, Setup
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_ultralytics import coco, plugin
from t2i_ultralytics.masks import fill_outline

SIZES = ((96, 96), (100, 60), (96, 96), (60, 100), (70, 70))
OFFERED: Any = {offered.name: offered for offered in plugin.t2i_judges()}


def made(argument: Any, name: str = "ultralytics", batch_size: int | None = None, **options: Any) -> Any:
    info = OFFERED[name]
    setup = Setup(str(argument), info.options(**{"imgsz": 96, **options}), "cpu", batch_size, True)
    info.loading.check(setup)
    return info.create(setup)


def ask(judge: Any, images: Sequence[Image], capability: Any = "segment") -> list[Any]:
    queries = [Query((image,)) for image in images]
    answers = list(judge.observe(capability, iter(queries)))
    assert all(answered is query for (answered, _), query in zip(answers, queries, strict=True))
    return [answer for _, answer in answers]


def iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


@pytest.fixture
def pictures(small: Any, tmp_path: Path) -> list[Image]:
    return [small.picture(tmp_path, 1000 + i, size) for i, size in enumerate(SIZES)]


class TestSegmenter(JudgeContract):
    module = "t2i_ultralytics.plugin"
    name = "ultralytics"
    options = {"imgsz": 96}  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def _checkpoint(self, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(trained))

    @pytest.fixture
    def images(self, pictures: list[Image]) -> list[Image]:
        return pictures


class TestDetector(TestSegmenter):
    name = "ultralytics-detect"


def test_things_are_found_where_they_are(small: Any, trained: Path, tmp_path: Path) -> None:
    seeds = range(2000, 2010)
    found = ask(made(trained), [small.picture(tmp_path, seed) for seed in seeds])
    overlaps, boxes = [], []
    for seed, segments in zip(seeds, found, strict=True):
        assert isinstance(segments, Segments)
        assert segments.labels == coco.LABELS
        for cls, mask in small.scene(seed)[1].items():
            index = next(
                i for i in range(len(segments)) if segments.classes[i] == cls and segments.scores[i] > 0.25
            )
            assert segments.label(index).synset == {small.PERSON: "person.n.01", small.CAR: "car.n.01"}[cls]
            overlaps.append(iou(segments.mask(index), mask > 0))
            y, x = np.nonzero(mask)
            boxes.append(segments.boxes[index] - [x.min(), y.min(), x.max() + 1, y.max() + 1])
    assert np.mean(overlaps) > 0.85
    assert np.abs(boxes).mean() < 2


def test_detections_above_the_floor_do_not_depend_on_it(trained: Path, pictures: list[Image]) -> None:
    low, high = (ask(made(trained, conf=conf), pictures) for conf in (0.001, 0.25))
    assert sum(map(len, low)) > sum(map(len, high)) > 0
    for a, b in zip(low, high, strict=True):
        kept = a.scores > 0.25
        np.testing.assert_allclose(a.scores[kept], b.scores, atol=1e-6)
        assert [m for m, k in zip(a.masks, kept, strict=True) if k] == list(b.masks)


@pytest.mark.long
@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_company_changes_nothing(trained: Path, pictures: list[Image], batch_size: int) -> None:
    alone = [ask(made(trained), [image])[0] for image in pictures]
    assert min(map(len, alone)) > 0
    for a, b in zip(alone, ask(made(trained, batch_size=batch_size), pictures), strict=True):
        np.testing.assert_allclose(a.boxes, b.boxes, atol=1e-3)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
        assert a.classes.tolist() == b.classes.tolist()
        assert min(iou(x.unpack(), y.unpack()) for x, y in zip(a.masks, b.masks, strict=True)) > 0.995


# the library's own predictors ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("masks", "strategy"), [("pixels", None), ("all", "all"), ("largest", "largest")])
def test_it_says_what_the_librarys_predictor_says(
    trained: Path, pictures: list[Image], masks: str, strategy: str | None
) -> None:
    from ultralytics import YOLO

    model = YOLO(str(trained))
    ours = ask(made(trained, masks=masks, conf=0.05, iou=0.8), pictures)
    for image, segments in zip(pictures, ours, strict=True):
        bgr = np.ascontiguousarray(image.pixels[:, :, ::-1])
        (theirs,) = model.predict(
            bgr, conf=0.05, iou=0.8, imgsz=96, retina_masks=True, verbose=False, device="cpu"
        )
        assert len(segments) == len(theirs) > 0
        np.testing.assert_allclose(segments.boxes, theirs.boxes.xyxy, atol=1e-3)
        np.testing.assert_allclose(segments.scores, theirs.boxes.conf, atol=1e-5)
        np.testing.assert_array_equal(segments.classes, theirs.boxes.cls)
        for i, mask in enumerate(theirs.masks.data.byte().numpy()):
            expected = mask.astype(bool) if strategy is None else fill_outline(mask, strategy)
            assert iou(segments.mask(i), expected) > 0.995


@pytest.mark.long
@pytest.mark.parametrize(
    ("described", "name", "capability"),
    [("yolo11n-seg.yaml", "ultralytics", "segment"), ("yolo26n-seg.yaml", "ultralytics", "segment"),
     ("yolov8n.yaml", "ultralytics-detect", "detect"), ("yolov10n.yaml", "ultralytics-detect", "detect")],
)  # fmt: skip
def test_other_families(
    small: Any, described: str, name: str, capability: str, pictures: list[Image], tmp_path: Path, save: Any
) -> None:
    from ultralytics import YOLO

    untrained = small.network(described)
    head = untrained.model[-1]
    for branch in (head.cv3, *([head.one2one_cv3] if head.end2end else [])):
        for last in branch:  # untrained heads are sure that there is nothing
            torch.nn.init.normal_(last[-1].bias, -3, 1)
    file = save(untrained, tmp_path / "other.pt")
    judge = made(file, name)
    ours = ask(judge, pictures[:2], capability)
    assert judge.settings["nms"].startswith("none") == head.end2end
    model = YOLO(str(file))
    for image, found in zip(pictures[:2], ours, strict=True):
        bgr = np.ascontiguousarray(image.pixels[:, :, ::-1])
        (theirs,) = model.predict(bgr, conf=0.05, imgsz=96, retina_masks=True, verbose=False, device="cpu")
        assert isinstance(found, Detections)
        assert len(found) == len(theirs) > 0
        np.testing.assert_allclose(found.scores, theirs.boxes.conf, atol=1e-5)
        np.testing.assert_allclose(np.sort(found.boxes, 0), np.sort(theirs.boxes.xyxy, 0), atol=1e-2)


# work ----------------------------------------------------------------------------------------------------------


def test_memory_that_runs_out_halves_the_batch(small: Any, trained: Path, tmp_path: Path) -> None:
    images = [small.picture(tmp_path, 3000 + i) for i in range(5)]
    expected = ask(made(trained), images)
    judge = made(trained)
    real, sizes = judge._network, []

    def scarce(batch: torch.Tensor) -> Any:
        sizes.append(len(batch))
        if len(batch) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return real(batch)

    judge._network = scarce
    for a, b in zip(expected, ask(judge, images), strict=True):
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-5)
    assert sizes == [4, 2, 1, 1, 1, 1, 1]
    assert judge.settings["batch_size"] == 1
    given = made(trained, batch_size=5)
    given._network = scarce
    assert len(ask(given, images)) == len(images)
    assert sizes[7:] == [5, 2, 1, 1, 1, 1, 1], "one that was given as well"


def test_half_precision(trained: Path, pictures: list[Image]) -> None:
    full, half = (ask(made(trained, dtype=dtype, conf=0.25), pictures) for dtype in ("float32", "float16"))
    for a, b in zip(full, half, strict=True):
        assert a.scores[0] == pytest.approx(b.scores[0], abs=0.02)
        np.testing.assert_allclose(a.boxes[0], b.boxes[0], atol=0.5)


def test_values_that_are_not_numbers_are_failures(trained: Path, pictures: list[Image]) -> None:
    judge = made(trained)
    real = judge._network

    def broken(batch: torch.Tensor) -> Any:
        (rows, protos), rest = real(batch)
        return (torch.full_like(rows, torch.nan), protos), rest

    judge._network = broken
    (answer,) = ask(judge, pictures[:1])
    assert isinstance(answer, Failure)
    assert "not numbers" in answer.reason


def test_an_image_without_anything_has_no_detections(trained: Path, pictures: list[Image]) -> None:
    (answer,) = ask(made(trained, conf=1.0), pictures[:1])
    assert isinstance(answer, Segments)
    assert (len(answer), answer.masks, answer.boxes.shape) == (0, (), (0, 4))


def test_outlines() -> None:
    mask = np.zeros((20, 30), np.uint8)
    mask[2:12, 2:12] = 1
    mask[5:9, 5:9] = 0  # a hole
    mask[15:18, 20:24] = 1  # a second part, as simple an outline as the first
    mask[16, 24] = 1  # no longer
    solid = np.zeros((20, 30), bool)
    solid[15:18, 20:24] = solid[16, 24] = True
    np.testing.assert_array_equal(fill_outline(mask, "largest"), solid)  # of most points, not of most pixels
    both = fill_outline(mask, "all")
    assert both[2:12, 2:12].all()
    assert both[solid].all()
    assert not fill_outline(np.zeros((20, 30), np.uint8), "largest").any()
