"""A loaded pipeline of diffusers as a model: its digest, and its images beside those of the plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import t2i_miniworld
from PIL import Image
from t2i_core import ModelRequest, evaluate
from t2i_core.engine.code.digest import digest_code
from t2i_miniworld.plugin import GUIDANCE, STEPS

WEIGHTS = Path(t2i_miniworld.__file__).parent / "weights" / "mini"
DIGEST = f"""
import torch
from diffusers import DiffusionPipeline
from t2i_core.engine.code.digest import digest_code
print(digest_code(DiffusionPipeline.from_pretrained({str(WEIGHTS)!r}, dtype=torch.float32)))
"""


def load() -> Any:
    import torch
    from diffusers import DiffusionPipeline

    return DiffusionPipeline.from_pretrained(WEIGHTS, dtype=torch.float32)


@pytest.mark.long
def test_a_pipelines_digest_follows_its_weights_alone() -> None:
    import torch

    pipeline = load()
    before = digest_code(pipeline)
    assert digest_code(load()) == before
    pipeline("a photo of a car", num_inference_steps=1, guidance_scale=2.0)
    assert digest_code(pipeline) == before
    done = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == before
    with torch.no_grad():
        next(pipeline.vae.parameters()).flatten()[0] += 1
    assert digest_code(pipeline) != before


@pytest.mark.long
def test_a_pipelines_digest_follows_its_settings() -> None:
    from diffusers import DiffusionPipeline, EulerDiscreteScheduler, FlowMatchEulerDiscreteScheduler

    class Paints(DiffusionPipeline):  # type: ignore[misc]
        def __init__(self, scheduler: Any, force: bool = True) -> None:
            super().__init__()
            self.register_modules(scheduler=scheduler)
            self.register_to_config(force=force)
            self.style = "oil"

    pipeline = Paints(FlowMatchEulerDiscreteScheduler())
    digests = [digest_code(pipeline)]
    for change in (
        lambda: pipeline.scheduler.set_shift(3.0),
        lambda: pipeline.register_to_config(force=False),
        lambda: setattr(pipeline, "style", "ink"),
        lambda: setattr(pipeline, "_colours", 3),
        lambda: setattr(pipeline, "scheduler", EulerDiscreteScheduler()),
    ):
        change()
        digests.append(digest_code(pipeline))
    assert len(set(digests)) == len(digests)
    pipeline.scheduler.set_timesteps(4)
    pipeline.scheduler.is_scale_input_called = True
    pipeline._guidance_scale = 3.0
    pipeline.set_progress_bar_config(disable=True)
    assert digest_code(pipeline) == digests[-1]


@pytest.mark.long
def test_a_pipeline_in_memory_draws_what_the_plugin_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    settings = {"num_inference_steps": STEPS, "guidance_scale": GUIDANCE}
    models = [ModelRequest(load(), "in memory", settings), ModelRequest("mini", "plugin")]
    prompts = ["a photo of a car", "a photo of an elephant"]
    run = evaluate((), models, prompts=prompts, seeds=2, out=tmp_path / "run")
    images = run.samples().pivot(index=["prompt", "seed"], columns="model", values="image")
    assert len(images) == 4
    for mine, plugins in zip(images["in memory"], images["plugin"], strict=True):
        a, b = (np.asarray(Image.open(run.folder / name)).astype(int) for name in (mine, plugins))
        assert abs(a - b).max() <= 3  # rounding differs between batches
        assert a.std() > 10
