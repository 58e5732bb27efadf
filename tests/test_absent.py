"""A plugin's library is not there: all else works, and who asks for it is told what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: library -> a component that needs it, and the distribution that brings it
NEEDED = {
    "timm": ("timm:resnet50.a1_in1k", "t2i-timm"),
    "torchvision": ("resnet50", "t2i-timm"),
    "open_clip": ("clip-vit-b32", "t2i-open-clip"),
    "diffusers": ("diffusers:pipeline", "t2i-diffusers"),
    "openai": ("openai:model", "t2i-openai"),
}

WITHOUT = """
import json, sys
for module in json.loads(sys.argv[1]):
    sys.modules[module] = None
from t2i_cli.app import app
from typer.testing import CliRunner
def called(words):
    done = CliRunner().invoke(app, words)
    return [done.exit_code, done.stdout, done.stderr]
print(json.dumps([called(words) for words in json.loads(sys.argv[2])]))
"""


def called(commands: list[list[str]], folder: Path) -> list[Any]:
    """Call t2i where none of these libraries can be imported. Returns exit code, output and errors of each."""
    words = [json.dumps(list(NEEDED)), json.dumps(commands)]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_else_works_and_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline/model_index.json").write_text('{"_class_name": "StableDiffusionPipeline"}')
    here = ["eval", "--metric", "tiam", "--prompts", "tiam-5-1", "--limit", "1", "--device", "cpu"]
    works = [*here, "--model", "simulator", "-o", "simulator.size=64", "--judge", "oracle", "--seeds", "1"]
    commands = [["list-plugins"], works]
    for spec, dist in NEEDED.values():
        by_model = dist in ("t2i-diffusers", "t2i-openai")
        commands.append([*here, "--model", spec, "--judge", "oracle"] if by_model else ["prefetch", spec])
    (listed, _, _), (evaluated, _, said), *asked = called(commands, tmp_path)
    assert (listed, evaluated) == (0, 0), said
    for (library, (_, dist)), (code, _, errors) in zip(NEEDED.items(), asked, strict=True):
        assert code == 7, errors
        assert f"needs the module '{library}', which is not installed: install {dist} with" in errors
