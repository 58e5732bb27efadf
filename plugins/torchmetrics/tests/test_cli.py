"""The command line with the real network, on folders of images."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PILImage
from t2i_cli.app import app
from typer.testing import CliRunner


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Images that a model made, as PNG, and reference images, as JPEG."""
    made, real = tmp_path / "made", tmp_path / "real"
    for folder, suffix, count in ((made, "png", 2), (real, "jpg", 2)):
        folder.mkdir()
        for i in range(count):
            pixels = np.random.default_rng([i, count]).integers(0, 256, (32, 32, 3), dtype=np.uint8)
            PILImage.fromarray(pixels).save(folder / f"{i}.{suffix}")
    with (made / "prompts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "prompt", "seed"], *([f"{i}.png", "text", i] for i in range(2))])
    return made, real


@pytest.mark.long
def test_the_distances_and_the_inception_score_of_a_folder(
    folders: tuple[Path, Path], random_inception: Path, tmp_path: Path
) -> None:
    made, real = folders
    command = [
        "eval", "--metric", "fid", "--metric", "kid", "--metric", "is", "--model", f"folder:{made}", "--json",
        "-o", f"fid.reference={real}", "-o", f"kid.reference={real}",
        "-o", f"inception-v3.checkpoint={random_inception}", "--out", str(tmp_path / "run"), "--device", "cpu",
        "--offline",
    ]  # fmt: skip
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    fid, kid, score = results = json.loads(found.stdout)["results"]
    assert [r["metric"] for r in results] == ["fid", "kid", "is"]
    assert {r["judge"]["name"] for r in results} == {"inception-v3"}
    assert all(r["n_ok"] == 2 for r in results)
    assert fid["score"] > 0
    assert kid["score"] != 0
    assert 1 <= score["score"] <= 2
    for distance in (fid, kid):
        notes = " ".join(distance["notes"])
        assert "PNG, the reference images JPEG" in notes
        assert ("2 generated images for 2048 features" in notes) == (distance is fid)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "reference"),
        (["-o", "fid.reference=nowhere"], "folder nowhere does not exist"),
        (["-o", f"fid.reference={__file__}"], "test_cli.py is not a folder"),
    ],
)
def test_without_reference_images_nothing_runs(folders: tuple[Path, Path], options: list[str], said: str) -> None:
    found = CliRunner().invoke(app, ["eval", "--metric", "fid", "--model", f"folder:{folders[0]}", *options])
    assert found.exit_code == 6
    assert said in found.stderr
    assert "Traceback" not in found.output
