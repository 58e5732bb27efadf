"""From the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner


@pytest.fixture
def t2i(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a command; its cache is its own."""
    from t2i_cli.app import app

    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments])

    return run


@pytest.mark.parametrize("pipeline", ["StableDiffusionPipeline", "FluxPipeline"])
def test_images_of_a_folder(pipeline: str, t2i: Any, checkpoint: Any, tmp_path: Path) -> None:
    folder, options = checkpoint(pipeline)
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a photo of a cat\na photo of a dog\n")
    given = {**options, "steps": 1, "guidance": 2.5}
    asked = [word for key, value in given.items() for word in ("-o", f"diffusers.{key}={json.dumps(value)}")]
    out = tmp_path / "run"
    done = t2i(
        *("generate", "--model", f"diffusers:{folder}", "--prompts", str(prompts), "--seeds", "2"),
        *("--device", "cpu", "--batch-size", "3", "--out", str(out), *asked),
    )
    assert done.exit_code == 0, done.output
    assert len([p for p in out.rglob("*") if p.suffix == ".png"]) == 4
    manifest = (out / "run.json").read_text()
    assert pipeline in manifest
    assert json.loads(manifest)
    assert '"guidance": 2.5' in manifest
    assert '"float32"' in manifest
