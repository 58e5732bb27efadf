"""Unusual images of a folder: formats, sizes, and errors about files that are not decoded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage
from pydantic import ValidationError
from t2i_core.api import Features, JudgeInfo, Measure, MetricInfo, Need, Row, StackedMetric
from t2i_core.engine.evaluation import evaluate
from t2i_core.engine.request import ModelRequest
from t2i_core.results.run import Run
from t2i_core.testing import StaticResolver
from t2i_folder.options import FolderOptions
from t2i_folder.plugin import t2i_generators

(FOLDER,) = t2i_generators()


class Height(StackedMetric):
    """The mean height of a prompt's images, as a judge of features says it."""

    needs = (Need("features", "features"),)

    def measure(self, unit: Any) -> Any:
        yield Row("height", float(unit.stacked["features"].values[:, 0].mean()))


class Ruler:
    """Says how high an image is, and how bright its first pixel."""

    asked = 0

    def __init__(self, setup: Any) -> None:
        pass

    def observe(self, capability: str, queries: Any) -> Any:
        for query in queries:
            Ruler.asked += 1
            pixels = query.images[0].pixels
            yield query, Features(np.array([len(pixels), pixels[0, 0, 0]], np.float32))


HEIGHT = MetricInfo(name="height", summary="Height.", create=Height, measures=(Measure("height", "Height."),))
RULER = JudgeInfo(name="ruler", summary="Ruler.", capabilities={"features": frozenset()}, create=Ruler)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    resolver = StaticResolver(FOLDER, HEIGHT, RULER)

    def measure(**options: Any) -> Run:
        model = ModelRequest(f"folder:{tmp_path / 'images'}", "photos", options)
        return evaluate("height", model, out=tmp_path / "run", resolver=resolver, max_failed=1.0)

    return measure


def draw(folder: Path) -> None:
    """Four images of 4 x 8 pixels: an ordinary one, one that lies on its side, 16 bits of grey, and CMYK."""
    folder.mkdir(parents=True, exist_ok=True)
    grey = np.full((4, 8, 3), 128, np.uint8)
    exif = PILImage.Exif()
    exif[0x0112] = 6
    PILImage.fromarray(grey).save(folder / "a.jpg")
    PILImage.fromarray(grey).save(folder / "b.jpg", exif=exif)
    PILImage.fromarray(np.full((4, 8), 128 * 257, np.uint16)).save(folder / "c.png")
    PILImage.fromarray(grey).convert("CMYK").save(folder / "d.jpg")
    lines = "".join(f"{name},a car,{seed}\n" for seed, name in enumerate(("a.jpg", "b.jpg", "c.png", "d.jpg")))
    (folder / "prompts.csv").write_text(f"file,prompt,seed\n{lines}")


def test_results_report_conversions_of_images(measured: Any, tmp_path: Path) -> None:
    draw(tmp_path / "images")
    run = measured()
    said = json.loads((tmp_path / "run" / "run.json").read_text())["results"][0]
    (note,) = [note for note in said["notes"] if note.startswith("photos: images")]
    assert "rotated by EXIF orientation: 1" in note
    assert "converted from 16-bit grey: 1" in note
    assert "converted from CMYK: 1" in note
    samples = run.samples()
    assert samples["height"].tolist() == [4, 8, 4, 4]
    assert said["score"] == pytest.approx((4 + 8 + 4 + 4) / 4)


def test_ordinary_images_have_no_notes(measured: Any, tmp_path: Path) -> None:
    draw(tmp_path / "images")
    (tmp_path / "images" / "prompts.csv").write_text("file,prompt\na.jpg,a car\n")
    run = measured()
    assert not [note for note in run.results[0].notes if note.startswith("photos: images")]
    assert run.samples()["record"].isna().all()


def test_each_image_is_asked_about_once(measured: Any, tmp_path: Path) -> None:
    draw(tmp_path / "images")
    Ruler.asked = 0
    measured()
    assert Ruler.asked == 4
    measured()
    assert Ruler.asked == 4


def test_other_formats_and_sizes_are_the_users_choice(measured: Any, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    PILImage.new("RGB", (8, 8), "red").save(folder / "a.png")
    PILImage.new("RGB", (8, 8), "red").save(folder / "b.png", "TIFF")
    PILImage.new("RGB", (2000, 1000), "red").save(folder / "c.png")
    lines = "".join(f"{name}.png,a car,{seed}\n" for seed, name in enumerate("abc"))
    (folder / "prompts.csv").write_text(f"file,prompt,seed\n{lines}")
    assert measured().samples()["status"].tolist() == ["ok", "failed", "ok"]
    assert "is TIFF, which is not read" in measured().samples()["reason"][1]
    run = measured(formats=["PNG", "TIFF"], megapixels=1)
    assert run.samples()["status"].tolist() == ["ok", "ok", "failed"]
    assert "2000 x 1000 pixels" in run.samples()["reason"][2]
    assert run.images()[1].pixels.shape == (8, 8, 3)  # an evaluation with this cache has allowed it


@pytest.mark.parametrize("name", ["EPS", "PDF", "PS", "WMF", "ICO"])
def test_formats_that_may_hold_a_program_cannot_be_allowed(name: str) -> None:
    with pytest.raises(ValidationError, match="formats"):
        FolderOptions(formats=("PNG", name))
