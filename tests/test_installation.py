"""Installation without a clone: a folder of wheels, what each extra brings, and the lowest versions allowed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_environment import ROOT, Command, build_wheels, fresh_environment, make_command, run
from PIL import Image

PACKAGES = (ROOT, *(ROOT / name for name in ("core", "registry", "cli")), *sorted((ROOT / "plugins").iterdir()))
LIGHT = (
    *(
        "arena-elo",
        "bias",
        "captioning",
        "folder",
        "geneval",
        "heim",
        "leaderboard",
        "paintskills",
        "people",
        "questions",
        "report",
        "selfeval",
        "suites",
        "text-rendering",
        "tiam",
        "torch-support",
        "view",
        "web-support",
    ),
    "wordnet-hypernymy",
    "yaml-benchmarks",
)
"""The plugins that `pip install t2i` brings."""

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    build_wheels(PACKAGES, folder)
    return folder


def _draw_images(folder: Path) -> None:
    """Write images of two models, with a table of prompts and one person's answers about their objects."""
    answers = ["rater,question,text,answer,model,prompt,seed"]
    for model, colour in (("red", "red"), ("blue", "blue")):
        (folder / model).mkdir()
        rows = []
        for prompt in ("cat", "dog", "car"):
            Image.new("RGB", (32, 32), colour).save(folder / model / f"{prompt}.png")
            rows.append(json.dumps({"file_name": f"{prompt}.png", "prompt": prompt, "seed": 0}))
            shown = "yes" if model == "red" or prompt == "cat" else "no"
            answers.append(
                f"Ann,{prompt},Is there at least one {prompt} in this image?,{shown},{model},{prompt},0"
            )
        (folder / model / "metadata.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "answers.csv").write_text("\n".join(answers), encoding="utf-8")
    prompts = [
        json.dumps({"id": name, "text": name, "scene": {"objects": [{"cls": {"name": name}}]}})
        for name in ("cat", "dog", "car")
    ]
    (folder / "prompts.jsonl").write_text("\n".join(prompts), encoding="utf-8")


def _use(t2i: Command, folder: Path) -> None:
    """List, explain, score existing images by people's answers, report and compare."""
    listed = json.loads(t2i("t2i", "list-plugins", "--check", "--json"))
    assert {row["status"] for row in listed} == {"ok"}
    assert "tiam" in t2i("t2i", "info", "tiam")
    _draw_images(folder)
    scores = {}
    for model in ("red", "blue"):
        found = t2i(
            *(
                "t2i",
                "eval",
                "--metric",
                "tiam",
                "--model",
                f"{model}=folder:{model}",
                "--prompts",
                "prompts.jsonl",
            ),
            *(
                "--seeds",
                "1",
                "--judge",
                "people:answers.csv",
                "--out",
                f"runs/{model}",
                "--json",
            ),
            cwd=folder,
        )
        (result,) = json.loads(found)["results"]
        scores[model] = result["score"]
    assert scores == {"red": 1.0, "blue": pytest.approx(1 / 3)}
    t2i("t2i", "report", "runs/red", "--out", "report.html", cwd=folder)
    assert "tiam" in (folder / "report.html").read_text(encoding="utf-8")
    assert "red,blue,0.66666" in t2i("t2i", "compare", "runs/red", "runs/blue", "--format", "csv", cwd=folder)


@pytest.mark.slow
def test_pip_alone_installs_what_needs_no_torch(wheels: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--quiet", "install", "--find-links", wheels, "t2i"], check=True)
    there = {path.name.partition("-")[0] for path in venv.rglob("*.dist-info")}
    assert "torch" not in there
    assert {f"t2i_{name.replace('-', '_')}" for name in LIGHT} <= there
    _use(make_command(tmp_path), tmp_path)


@pytest.mark.slow
def test_the_lowest_versions_allowed_work(wheels: Path, tmp_path: Path) -> None:
    listed = [ROOT / each / "pyproject.toml" for each in ("core", "registry", "cli")]
    listed += [ROOT / "plugins" / name / "pyproject.toml" for name in LIGHT]
    lowest = tmp_path / "lowest.txt"
    resolve = ["--resolution", "lowest-direct", "--no-sources", "--find-links", wheels, "--output-file", lowest]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    run("uv", "pip", "compile", "--quiet", "--python-version", python, *resolve, *listed, cwd=tmp_path)
    run("uv", "venv", "--quiet", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    install = ["--python", tmp_path / "venv" / "bin" / "python", "--find-links", wheels, "-r", lowest, "t2i"]
    run("uv", "pip", "install", "--quiet", *install, cwd=tmp_path)
    _use(make_command(tmp_path), tmp_path)


@pytest.mark.slow
def test_everything_runs_the_readmes_main_job(wheels: Path, tmp_path: Path) -> None:
    t2i = fresh_environment(tmp_path, sorted(wheels.glob("*.whl")), "t2i[all]")
    found = json.loads(t2i("t2i", "eval", "--metric", "tiam", "--model", "mini", "--seeds", "2", "--json"))
    assert found["results"][0]["score"] > 0.5
