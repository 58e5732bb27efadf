"""The guides' commands and Python work in the order in which they stand there; output is as the guides show."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from t2i_cli.app import app
from typer.testing import CliRunner

DOCS = Path(__file__).parent.parent / "docs"
GUIDES = ("first-evaluation.md", "compare-checkpoints.md", "evaluate-a-folder.md")

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?<?\d[\d.:e-]*(?:[kMG]?B)?")


def mask(line: str) -> str:
    """Return a line with its numbers and spaces made equal: they differ between processors."""
    return " ".join(NUMBER.sub("#", line).split())


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guides evaluate the same images."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("guide", GUIDES)
def test_commands_print_what_a_guide_shows(
    guide: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(cache))
    monkeypatch.setenv("COLUMNS", "200")  # else tables fold where the tests' output is narrow
    blocks = BLOCK.findall((DOCS / guide).read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, Any] = {}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, guide, "exec"), names)
            continue
        command, *expected = block.splitlines()
        assert command.startswith("$ t2i ")
        done = CliRunner().invoke(app, shlex.split(command)[2:])
        assert done.exit_code == 0, f"{command}: {done.output}"
        printed = iter([mask(line) for line in done.output.splitlines()])
        for line in expected:
            if line != "...":
                assert mask(line) in printed, f"{command} does not print {line!r} there:\n{done.output}"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_python_page_runs(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import t2i_miniworld
    import torch
    from diffusers import StableDiffusionPipeline
    from t2i_core import evaluate

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("T2I_CACHE_DIR", str(cache))
    for name, colour in {"a.png": "red", "b.png": "blue"}.items():
        Image.new("RGB", (32, 32), colour).save(name)

    class QuickPipeline(StableDiffusionPipeline):  # type: ignore[misc]  # diffusers is not typed
        def __call__(self, prompt: Any, generator: Any, **given: Any) -> Any:
            return super().__call__(prompt, generator=generator, num_inference_steps=2, **given)

    folder = Path(t2i_miniworld.__file__).parent / "weights" / "mini"
    pipeline = QuickPipeline.from_pretrained(folder, torch_dtype=torch.float32)

    def train(network: torch.nn.Module, steps: int) -> None:
        with torch.no_grad():
            next(network.parameters()).add_(1e-3 * steps / 1_000)

    names: dict[str, Any] = {
        "pipeline": pipeline,
        "train": train,
        "old_images": [Image.open("a.png"), Image.open("b.png")],
        "new_images": [Image.open("b.png"), Image.open("a.png")],
        "table": pd.DataFrame({"caption": ["a red car", "a dog"]}),
    }
    blocks = [block for language, block in BLOCK.findall((DOCS / "python.md").read_text()) if language == "python"]
    # a tenth of the images that the page draws
    first, images, training = (block.replace("seeds=4", "seeds=2, limit=12") for block in blocks)
    exec(compile(first, "python.md", "exec"), names)
    assert [result.metric for result in names["run"].results] == ["tiam"]
    # the default judge of clipscore would be downloaded
    names["evaluate"] = partial(evaluate, judge="mini-clip")
    exec(compile(images, "python.md", "exec"), names)
    assert [(c.a, c.b) for c in names["run"].comparisons] == [("old", "new")]
    exec(compile(training, "python.md", "exec"), names)
    assert list(names["scorer"].history["step"]) == [0, 1_000, 2_000]
    assert names["scorer"].history["score"].notna().all()
