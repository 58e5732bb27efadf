"""A plugin's library is not there: all else works, and who asks for it is told what to install."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from t2i_core.engine.executors import GROUP as EXECUTORS
from t2i_registry.discovery import KIND_OF_GROUP

ROOT = Path(__file__).parents[1]

HERE = ["eval", "--metric", "tiam", "--prompts", "tiam-5-1", "--limit", "1", "--seeds", "1", "--device", "cpu"]
DRAWN = ["--model", "simulator", "-o", "simulator.size=64"]
#: library -> the distribution that brings it, and a command that needs it
NEEDED = {
    "timm": ("t2i-timm", ["prefetch", "timm:resnet50.a1_in1k"]),
    "open_clip": (
        "t2i-open-clip",
        ["eval", "--metric", "clipscore", *HERE[3:], *DRAWN, "--judge", "open-clip:ViT-B-32/yolo.pt"],
    ),
    "diffusers": ("t2i-diffusers", [*HERE, "--model", "diffusers:pipeline", "--judge", "oracle"]),
    "openai": ("t2i-openai", [*HERE, "--model", "openai:model", "--judge", "oracle"]),
    "transformers": ("t2i-transformers", [*HERE, *DRAWN, "--judge", "transformers-segmenter:judge"]),
    "ultralytics": ("t2i-ultralytics", [*HERE, *DRAWN, "--judge", "ultralytics:yolo.pt"]),
    "torch_fidelity": (
        "t2i-torchmetrics",
        [
            "eval",
            "--metric",
            "is",
            *HERE[3:],
            *DRAWN,
            "--judge",
            "inception-v3",
            "-o",
            "inception-v3.checkpoint=yolo.pt",
        ],
    ),
    "datasets": ("t2i-datasets", [*HERE[:3], *DRAWN, "--judge", "oracle", "--prompts", "hub:judge", "--offline"]),
}
FILES = {
    "pipeline/model_index.json": {"_class_name": "StableDiffusionPipeline"},
    "judge/config.json": {
        "model_type": "mask2former",
        "architectures": ["Mask2FormerForUniversalSegmentation"],
        "id2label": dict(enumerate(("car", "refrigerator", "giraffe", "elephant", "zebra"))),
    },
    "judge/preprocessor_config.json": {"image_processor_type": "Mask2FormerImageProcessor"},
}
#: the least that is one: the length of its header, and an empty header
SAFETENSORS = (2).to_bytes(8, "little") + b"{}"

WITHOUT = """
import json, sys
from t2i_cli.app import app
from typer.testing import CliRunner
for absent, words in json.loads(sys.argv[1]):
    before = {module: sys.modules.get(module) for module in absent}
    sys.modules.update(dict.fromkeys(absent))  # None there: it cannot be imported
    done = CliRunner().invoke(app, words)
    for module, found in before.items():
        sys.modules.pop(module) if found is None else sys.modules.update({module: found})
    print(json.dumps([done.exit_code, done.stderr]))
"""


def called(commands: list[tuple[list[str], list[str]]], folder: Path) -> list[tuple[int, str]]:
    """Call t2i, each time without some libraries. Returns exit code and errors of each."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_the_command_line_knows_which_plugin_of_ours_offers_what() -> None:
    offered: dict[str, str] = {}
    for file in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        own = project.get("entry-points", {})
        groups = (own.get(group, {}) for group in (*KIND_OF_GROUP, EXECUTORS))
        offered |= {name: project["name"].replace("-", "_") for group in groups for name in group}
    command_line = tomllib.loads((ROOT / "cli" / "pyproject.toml").read_text())["project"]
    assert command_line["entry-points"]["t2i.elsewhere"] == offered != {}


@pytest.mark.long
def test_all_else_works_and_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "judge" / "model.safetensors").write_bytes(SAFETENSORS)
    torch.save({}, tmp_path / "yolo.pt")
    everything = list(NEEDED)
    works = [(everything, ["list-plugins"]), (everything, [*HERE, *DRAWN, "--judge", "oracle"])]
    commands = [([library], words) for library, (_, words) in NEEDED.items()]
    (listed, _), (evaluated, said), *asked = called([*works, *commands], tmp_path)
    assert (listed, evaluated) == (0, 0), said
    for (library, (dist, _)), (code, errors) in zip(NEEDED.items(), asked, strict=True):
        assert code == 7, errors
        assert f"needs the module '{library}', which is not installed: install {dist} with" in errors
