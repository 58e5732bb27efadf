"""Checkpoints: found, told apart, and read without running what they bring along."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import PIL.Image
import pytest
import torch
from t2i_core.api import ObjectClass, Setup
from t2i_core.api.errors import BadModel, BadOption, T2IError, UnknownName
from t2i_ultralytics import assets, checkpoints, coco, library, plugin
from t2i_ultralytics.options import DetectOptions, SegmentOptions

COCO = tuple(label.name for label in coco.LABELS)
OFFERED: Any = {offered.name: offered for offered in plugin.t2i_judges()}


def load(file: Any, **options: Any) -> Any:
    return checkpoints.load(str(file), SegmentOptions(**options), True, True)


class Call:
    """What is pickled as a call is called when it is read."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.long
@pytest.mark.parametrize("place", ["beside", "inside"])
@pytest.mark.parametrize(("function", "call"), [("system", "touch {}"), ("eval", "open({!r}, 'w')")])
def test_a_pickle_that_runs_something_is_refused(
    function: str, call: str, place: str, small: Any, tmp_path: Path
) -> None:
    made, mark, file = small.network(), tmp_path / "was-here", tmp_path / "bad.pt"
    bomb = Call({"system": os.system, "eval": eval}[function], call.format(str(mark)))
    if place == "inside":
        made.yaml["extra"] = bomb
    torch.save({"model": made, "extra": bomb if place == "beside" else None}, file)
    expected = rf"bad\.pt is refused: its pickle contains (\w+\.)?{function}, which does not belong"
    with pytest.raises(BadModel, match=expected) as refused:
        load(file)
    assert "\n" not in str(refused.value)
    assert not mark.exists()
    torch.load(file, weights_only=False)  # and it would have
    assert mark.exists()


@pytest.mark.parametrize("name", ["__subclasses__", "__init__"])
def test_getattr_reaches_no_further_than_networks_need(name: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.pt"
    torch.save({"model": Call(getattr, torch.nn.Module, name)}, file)
    with pytest.raises(BadModel, match=f"bad.pt is refused: its pickle .*unsafe getattr.*{name}"):
        load(file)


def test_an_archive_of_old_is_refused(small: Any, tmp_path: Path) -> None:
    file = tmp_path / "old.pt"
    torch.save({"model": small.network()}, file, _use_new_zipfile_serialization=False)
    with pytest.raises(BadModel, match=r"no whole archive of PyTorch \(torch.save, 1.6 or later\)"):
        load(file)


@pytest.mark.long
def test_reading_leaves_nothing_behind_in_this_process(trained: Path) -> None:
    def state() -> Any:
        safe = {str(entry) for entry in torch.serialization.get_safe_globals()}
        return safe, library.downloads.attempt_download_asset, dict(os.environ)

    before = state()
    load(trained)
    assert state() == before
    assert torch.save.__module__ == "torch.serialization"
    assert PIL.Image.open.__module__ == "PIL.Image"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no whole archive"),
        (b"no pickle at all", "no whole archive"),
        (None, "does not exist"),
    ],
)
def test_files_that_are_not_checkpoints_are_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "it's a file.pt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadModel, match=said) as error:
        load(file)
    assert "\n" not in str(error.value)


@pytest.mark.long
def test_a_file_that_is_cut_off(trained: Path, tmp_path: Path) -> None:
    file = tmp_path / "cut.pt"
    file.write_bytes(trained.read_bytes()[:-5000])
    with pytest.raises(BadModel, match="no whole archive"):
        load(file)


def test_other_things_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "weights.pt"
    torch.save({"model": {"a": torch.zeros(3)}}, file)
    with pytest.raises(BadModel, match="holds a dict and no network"):
        load(file)
    torch.save([1, 2], file)
    with pytest.raises(BadModel, match="refused"):
        load(file)
    with pytest.raises(BadModel, match=r"not a \.pt file"):
        load(tmp_path.parent / Path(__file__))


def test_any_path_is_taken_as_it_stands(trained: Path, tmp_path: Path) -> None:
    file = tmp_path / "it's mine, yolov8n.pt"
    file.write_bytes(trained.read_bytes())
    assert load(file)[1].task == "segment"


def test_the_digest_that_a_user_gives(trained: Path) -> None:
    digest = hashlib.sha256(trained.read_bytes()).hexdigest()
    load(trained, sha256=digest)
    with pytest.raises(BadModel, match=digest):
        load(trained, sha256="0" * 64)


# what it is ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_classes_are_read_from_the_file(small: Any, save: Any, tmp_path: Path, trained: Path) -> None:
    info = OFFERED["ultralytics"]
    assert info.labels(str(trained), info.options()) == coco.LABELS
    file = save(small.network(names=("mouse", "dog")), tmp_path / "own.pt")
    assert info.labels(str(file), info.options()) == (ObjectClass("mouse"), ObjectClass("dog"))
    save(small.network(names=("mouse", "cat")), file)  # another file of this name is read anew
    assert info.labels(str(file), info.options()) == (ObjectClass("mouse"), ObjectClass("cat"))


def test_models_without_masks_are_refused_as_segmenters(small: Any, save: Any, tmp_path: Path) -> None:
    file = save(small.network("yolov8n.yaml"), tmp_path / "boxes.pt")
    for argument in (str(file), "yolo11x"):
        with pytest.raises(BadModel, match=rf"gives boxes but no masks; use ultralytics-detect:{argument}"):
            OFFERED["ultralytics"].loading.check(Setup(argument, SegmentOptions()))
        OFFERED["ultralytics-detect"].loading.check(Setup(argument, DetectOptions()))


def test_other_tasks_are_refused(save: Any, tmp_path: Path) -> None:
    from ultralytics import YOLO

    file = tmp_path / "cls.pt"
    YOLO("yolov8n-cls.yaml").save(file)
    with pytest.raises(BadModel, match="classify"):
        OFFERED["ultralytics-detect"].loading.check(Setup(str(file), DetectOptions()))


@pytest.mark.long
@pytest.mark.parametrize(("lacks", "said"), [("names", "name its classes"), ("stride", "say the strides")])
def test_a_file_that_does_not_say_what_it_is(lacks: str, said: str, small: Any, tmp_path: Path) -> None:
    made = small.network()
    delattr(made, lacks)
    file = tmp_path / "mute.pt"
    torch.save({"model": made}, file)
    for refused in (OFFERED["ultralytics"].loading.check, OFFERED["ultralytics"].create):
        with pytest.raises(BadModel, match=rf"mute\.pt does not {said}") as error:
            refused(Setup(str(file), SegmentOptions(), "cpu"))
        assert "\n" not in str(error.value)


def test_sides_that_its_stride_does_not_divide(small: Any, save: Any, tmp_path: Path) -> None:
    file = save(small.network("yolov8n-p6.yaml"), tmp_path / "p6.pt")
    check = OFFERED["ultralytics-detect"].loading.check
    check(Setup(str(file), DetectOptions(imgsz=640)))
    with pytest.raises(BadOption, match="multiple of 64"):
        check(Setup(str(file), DetectOptions(imgsz=608)))


def test_a_gpu_that_is_not_there_is_told_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        OFFERED["ultralytics"].loading.check(Setup("yolov8x-seg", SegmentOptions(), "cuda"))


# what ultralytics publishes --------------------------------------------------------------------------------------


def test_names_are_the_librarys_own() -> None:
    assert {f"{name}.pt" for name in assets.NAMES} <= library.downloads.GITHUB_ASSETS_NAMES
    known = dict(enumerate(label.name for label in coco.LABELS))
    described = library.tasks.YAML.load(Path(library.ultralytics.__file__).parent / "cfg/datasets/coco.yaml")
    assert described["names"] == known


def test_unknown_names() -> None:
    with pytest.raises(UnknownName, match="did you mean 'yolov8x-seg'"):
        OFFERED["ultralytics"].loading.check(Setup("yolov8x-sag", SegmentOptions()))


@pytest.mark.long
def test_an_asset_is_fetched_once_and_only_when_it_may_be(
    small: Any, save: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = save(small.network(), tmp_path / "published.pt")
    digest = hashlib.sha256(published.read_bytes()).hexdigest()
    asked = []

    def open_url(url: str, timeout: float) -> Any:
        asked.append(url)
        return urlopen(published.as_uri())

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    monkeypatch.setattr("t2i_torch_support.url_files.urlopen", open_url)
    info = OFFERED["ultralytics"]
    offline = Setup("yolov8x-seg", info.options(), "cpu", offline=True)
    for refused in (info.loading.check, info.create, info.loading.prefetch, info.loading.resolve):
        with pytest.raises(BadModel, match="run `t2i prefetch ultralytics:yolov8x-seg` with a network"):
            refused(offline)
    info.loading.check(Setup("yolov8x-seg", info.options()))
    assert asked == []
    info.loading.prefetch(Setup("yolov8x-seg", info.options()))
    url = "https://github.com/ultralytics/assets/releases/download/v8.4.0/yolov8x-seg.pt"
    assert asked == [url]
    info.loading.prefetch(Setup("yolov8x-seg", info.options()))
    assert info.labels("yolov8x-seg", info.options()) == coco.LABELS
    info.loading.check(offline)
    judge = info.create(offline)
    assert asked == [url]
    assert judge.settings["sha256"] == digest
    settled = info.loading.resolve(offline)
    assert settled.sha256 == digest
    assert list(info.loading.weights("yolov8x-seg", settled)) == [
        digest
    ]  # not its address, which may come to mean another
    (file,) = (tmp_path / "hub").rglob("yolov8x-seg.pt")
    assert file.with_name("yolov8x-seg.pt.sha256").read_text().strip() == digest
    save(small.network(names=("mouse", *COCO[1:])), file)
    with pytest.raises(BadModel, match=f"has changed since it was first seen here: .*not {digest}"):
        info.create(offline)
    with pytest.raises(BadModel, match=f"not {digest}"):
        info.create(Setup("yolov8x-seg", settled, "cpu", offline=True))


def test_a_detector_is_refused_as_a_segmenter_before_it_is_fetched() -> None:
    with pytest.raises(BadModel, match="boxes but no masks"):
        OFFERED["ultralytics"].loading.resolve(Setup("yolo11x", SegmentOptions()))


def test_an_asset_knows_cocos_classes(
    small: Any, save: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    file = tmp_path / "checkpoints" / "ultralytics" / assets.RELEASE / "yolo11x-seg.pt"
    file.parent.mkdir(parents=True)
    save(small.network(names=("mouse", "dog")), file)
    with pytest.raises(BadModel, match="not the asset of this name"):
        load("yolo11x-seg")


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr("t2i_torch_support.url_files.urlopen", refuse)
    with pytest.raises(T2IError, match=r"cannot be fetched .*no route to host"):
        OFFERED["ultralytics"].loading.prefetch(Setup("yolov8x-seg", SegmentOptions()))
    assert not list(tmp_path.rglob("*.pt"))


def test_presets_are_the_papers() -> None:
    tiam = OFFERED["yolov8x-seg"]
    assert (tiam.of, tiam.argument) == ("t2i-ultralytics/ultralytics", "yolov8x-seg")
    options = SegmentOptions(**tiam.options)
    assert (options.iou, options.masks, options.imgsz) == (0.8, "largest", 640)
    assert options.conf <= 0.25  # the paper's threshold, which is the metric's
    assert np.float32(options.conf) > 0
    for info in OFFERED.values():
        if hasattr(info, "capabilities"):
            assert "AGPL-3.0" in info.about.licence
            assert "AGPL-3.0" in info.about.notes
