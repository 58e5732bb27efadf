"""The judge on drawn texts, with the models of the library's wheel."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image as PILImage
from PIL import ImageDraw, ImageFont
from t2i_core.api import Failure, Query, ReadText, Setup
from t2i_core.api.errors import BadOption
from t2i_core.api.image import load_image
from t2i_core.testing import JudgeContract
from t2i_core.testing.parts import settle
from t2i_rapidocr import reader
from t2i_rapidocr.models import find_models
from t2i_rapidocr.options import OcrOptions
from t2i_rapidocr.plugin import t2i_judges

SMALL = {"shortest_side": 192}
"""Options with which an image takes a fraction of a second."""

TEXTS = ("STOP", "Fresh bread", "2 for 1")


def draw(folder: Path, *lines: str, size: int = 256) -> Any:
    """Write an image with lines of text, dark on a light ground."""
    image = PILImage.new("RGB", (size, size), (230, 225, 200))
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((20, 20 + 70 * number), line, fill=(20, 40, 90), font=ImageFont.load_default(36))
    file = folder / f"{'-'.join(lines) or 'blank'}.png"
    image.save(file)
    return load_image(file)


class TestContract(JudgeContract):
    module = "t2i_rapidocr.plugin"
    name = "rapidocr"
    options: ClassVar = SMALL

    @pytest.fixture
    def images(self, tmp_path: Path) -> list[Any]:
        """Images with a text, and one without."""
        return [draw(tmp_path, TEXTS[0]), draw(tmp_path, TEXTS[1]), draw(tmp_path)]


@pytest.fixture(scope="module")
def judge() -> Any:
    (info,) = t2i_judges()
    component = settle(info, SMALL, None)
    return component.info.create(component.setup())


def read(judge: Any, image: Any) -> ReadText:
    ((_, answer),) = judge.observe("read", [Query((image,))])
    assert isinstance(answer, ReadText)
    return answer


def test_lines_are_read_in_order_with_their_boxes(judge: Any, tmp_path: Path) -> None:
    found = read(judge, draw(tmp_path, *TEXTS))
    assert found.lines == TEXTS
    assert found.boxes is not None
    assert found.scores is not None
    assert found.scores.min() > 0.8
    tops = found.boxes[:, 1]
    assert np.all(np.diff(tops) > 50)
    assert np.all(np.abs(found.boxes[:, 0] - 20) < 12)


def test_an_image_without_text_has_no_lines(judge: Any, tmp_path: Path) -> None:
    found = read(judge, draw(tmp_path))
    assert found.lines == ()
    assert found.boxes is not None
    assert found.boxes.shape == (0, 4)


def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    (info,) = t2i_judges()
    component = settle(info, SMALL, None)
    assert read(component.info.create(component.setup()), draw(tmp_path, "STOP")).lines == ("STOP",)


def test_the_models_are_those_of_the_wheel() -> None:
    files = find_models(OcrOptions())
    assert [file.suffix for file in files] == [".onnx"] * 3
    assert len({file.parent for file in files}) == 1


def test_a_file_that_is_missing_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="option 'recognition' of 'rapidocr': no such file"):
        find_models(OcrOptions(recognition=tmp_path / "absent.onnx"))


def test_an_elongated_image_fails_with_its_size(judge: Any, tmp_path: Path) -> None:
    PILImage.new("RGB", (2500, 20), (230, 225, 200)).save(tmp_path / "long.png")
    ((_, answer),) = judge.observe("read", [Query((load_image(tmp_path / "long.png"),))])
    assert answer == Failure("an image of 2500 x 20 pixels is too elongated for rapidocr", final=True)


@pytest.mark.parametrize(
    ("device", "offered", "on_gpu", "number"),
    [
        (None, True, True, 0), ("cuda", True, True, 0), ("cuda:1", True, True, 1), ("cpu", True, False, 0),
        (None, False, False, 0), ("cuda:1", False, False, 1),
    ],
)  # fmt: skip
def test_the_device_is_the_runs(
    monkeypatch: pytest.MonkeyPatch, device: str | None, offered: bool, on_gpu: bool, number: int
) -> None:
    given: dict[str, Any] = {}

    class Engine:
        text_det = None

        def __init__(self, params: dict[str, Any]) -> None:
            given.update(params)

    providers = ["CUDAExecutionProvider"] * offered + ["CPUExecutionProvider"]
    monkeypatch.setattr(reader.onnxruntime, "get_available_providers", lambda: providers)
    monkeypatch.setattr(reader, "RapidOCR", Engine)
    made = reader.OcrReader(Setup(None, OcrOptions(), device))
    assert given["EngineConfig.onnxruntime.use_cuda"] is on_gpu
    assert given["EngineConfig.onnxruntime.cuda_ep_cfg.device_id"] == number
    assert made.settings["provider"] == ("CUDAExecutionProvider" if on_gpu else "CPUExecutionProvider")


def test_the_provider_is_that_of_the_session(judge: Any, tmp_path: Path) -> None:
    read(judge, draw(tmp_path, "STOP"))
    assert judge.settings["provider"] == judge._engine.text_det.session.session.get_providers()[0]
