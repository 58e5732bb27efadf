"""A stranger's plugin: from wheels alone, in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "t2i-sharpness"
INSTALLED = (ROOT / "core", ROOT / "registry", ROOT / "cli", ROOT / "plugins" / "folder", EXAMPLE)
MOST_LINES = 40

Command = Callable[..., str]


def run(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command; returns its standard output."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, cwd=cwd, env=env)
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Build wheels, install them and what they need into a fresh environment, and run commands of it there."""
    place = tmp_path_factory.mktemp("stranger")
    wheels, venv = place / "wheels", place / "venv"
    for package in INSTALLED:
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, package)
    tested = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(tested["constraint-dependencies"]), encoding="utf-8")
    wanted = [*sorted(wheels.glob("*.whl")), "pytest", "-c", constraints]
    bin_folder = venv / ("Scripts" if os.name == "nt" else "bin")
    if shutil.which("uv"):
        run("uv", "venv", "--quiet", "--python", sys.executable, venv, cwd=place)
        run("uv", "pip", "install", "--quiet", "--python", bin_folder / "python", *wanted, cwd=place)
    else:
        run(sys.executable, "-m", "venv", venv)
        run(bin_folder / "python", "-m", "pip", "install", "--quiet", *wanted, cwd=place)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("T2I_", "PYTHON", "VIRTUAL_ENV", "PYTEST"))}
    env |= {"T2I_CACHE_DIR": str(place / "cache")}

    def command(name: str, *words: object) -> str:
        found = shutil.which(name, path=str(bin_folder))
        assert found, f"{name} is not installed"
        return run(found, *words, cwd=place, env=env)

    return command


def test_the_example_is_forty_lines_at_most() -> None:
    files = sorted((EXAMPLE / "t2i_sharpness").rglob("*.py"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert files
    assert len(lines) <= MOST_LINES


def test_it_passes_its_own_tests_where_it_is_installed(inside: Command, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")  # away from the repository's own configuration
    said = inside("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "tests")
    assert "skipped" not in said
    assert "passed" in said


def test_it_is_listed_and_sound(inside: Command) -> None:
    listed = json.loads(inside("t2i", "list-plugins", "--check", "--json"))
    assert [(p["kind"], p["name"], p["status"]) for p in listed] == [
        ("generator", "folder", "ok"),
        ("metric", "sharpness", "ok"),
    ]
    (sharpness,) = (p for p in listed if p["name"] == "sharpness")
    assert (sharpness["dist"], sharpness["module"]) == ("t2i-sharpness", "t2i_sharpness.plugin")


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
