"""A third-party plugin, installed from wheels alone in its own environment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fresh_environment import ROOT, Command, build_wheels, fresh_environment
from PIL import Image

EXAMPLE = ROOT / "examples" / "t2i-sharpness"
INSTALLED = (
    *(ROOT / part for part in ("core", "registry", "cli", "plugins/folder", "plugins/torch-support")),
    EXAMPLE,
)
MOST_LINES = 40


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Commands of an environment that holds wheels and what they need."""
    place = tmp_path_factory.mktemp("stranger")
    return fresh_environment(place, build_wheels(INSTALLED, place / "wheels"), "pytest")


def test_the_example_is_forty_lines_at_most() -> None:
    files = sorted((EXAMPLE / "t2i_sharpness").rglob("*.py"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert files
    assert len(lines) <= MOST_LINES


@pytest.mark.long
def test_it_passes_its_own_tests_where_it_is_installed(inside: Command, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")  # away from the repository's own configuration
    said = inside("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "tests")
    assert "skipped" not in said
    assert "passed" in said


@pytest.mark.long
def test_it_is_listed_and_sound(inside: Command) -> None:
    listed = json.loads(inside("t2i", "list-plugins", "--check", "--json"))
    assert [(p["kind"], p["name"], p["status"]) for p in listed] == [
        ("generator", "folder", "ok"),
        ("metric", "sharpness", "ok"),
    ]
    (sharpness,) = (p for p in listed if p["name"] == "sharpness")
    assert (sharpness["dist"], sharpness["module"]) == ("t2i-sharpness", "t2i_sharpness.plugin")


@pytest.mark.long
def test_it_is_evaluated_with(inside: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    expected, rows = {}, []
    for number, strength in enumerate((0, 5, 20, 60)):
        pixels = np.clip(rng.normal(128, strength, (24, 32, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        prompt, seed = ("a quiet sea", "a stormy sea")[number // 2], number % 2
        rows.append({"file": f"{number}.png", "prompt": prompt, "seed": seed})
        expected[prompt, seed] = direct(pixels)
    pd.DataFrame(rows).to_csv(tmp_path / "prompts.csv", index=False)

    out = tmp_path / "run"
    model = f"folder:{tmp_path}"
    answer = json.loads(inside("t2i", "eval", "--metric", "sharpness", "--model", model, "--out", out, "--json"))
    (result,) = answer["results"]
    assert result["score"] == pytest.approx(np.mean(list(expected.values())))
    assert result["ci"][0] <= result["score"] <= result["ci"][1]
    assert (result["n_ok"], result["n_failed"], result["n_missing"]) == (4, 0, 0)
    assert (result["n_prompts"], result["n_seeds"]) == (2, 2)
    assert result["judge"] == {"name": "pixels", "why": "the metric measures the image itself"}

    measured = pd.read_csv(out / "measurements.csv")
    texts = pd.read_csv(out / "samples.csv").set_index("prompt")["text"]
    found = {(texts[m.prompt].iloc[0], m.seed): m.value for m in measured.itertuples()}
    assert found == {cell: pytest.approx(value) for cell, value in expected.items()}
    manifest = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert manifest["packages"]["t2i-sharpness"] == "0.1.0"
    assert not {"torch", "transformers"} & manifest["packages"].keys()


def direct(pixels: np.ndarray) -> float:
    """The variance of the Laplacian, pixel by pixel; beyond an edge lies the edge's own pixel."""
    y = pixels @ [0.299, 0.587, 0.114]
    height, width = y.shape
    values = [
        sum(
            y[min(max(i + di, 0), height - 1), min(max(j + dj, 0), width - 1)] - y[i, j]
            for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1))
        )
        for i in range(height)
        for j in range(width)
    ]
    return float(np.var(values))
