"""On published weights: `pytest -m weights`, with a network or after `t2i prefetch clip-vit-b32`.

T2I_CLIP_DIAGRAM: the file CLIP.png of github.com/openai/CLIP.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from t2i_core.api import JudgeInfo, Preset, Query, Setup
from t2i_core.api.image import load_image
from t2i_open_clip import plugin

pytestmark = pytest.mark.weights
OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("argument", ["ViT-B-32-quickgelu/openai", "ViT-B-32/openai"])
def test_openais_own_example(argument: str) -> None:
    """The README of openai/CLIP prints these probabilities for its diagram; other activations give others."""
    if "T2I_CLIP_DIAGRAM" not in os.environ:
        pytest.skip("wants CLIP.png of github.com/openai/CLIP: set T2I_CLIP_DIAGRAM")
    info = OFFERED["open-clip"]
    assert isinstance(info, JudgeInfo)
    judge = info.create(Setup(argument, info.options()))
    asked = [
        Query((load_image(Path(os.environ["T2I_CLIP_DIAGRAM"])),)),
        *(Query(texts=(text,)) for text in ("a diagram", "a dog", "a cat")),
    ]
    vectors = np.stack([embedding.values for _, embedding in judge.observe("embed", asked)])  # type: ignore[union-attr]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    logits = judge.settings["logit_scale"] * vectors[1:] @ vectors[0]  # type: ignore[attr-defined]
    found = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(found, [0.9927937, 0.00421068, 0.00299572], atol=2e-3)


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", [p.name for p in OFFERED.values() if isinstance(p, Preset)])
def test_every_preset_loads(name: str) -> None:
    preset, info = OFFERED[name], OFFERED["open-clip"]
    assert isinstance(preset, Preset)
    assert isinstance(info, JudgeInfo)
    judge = info.create(Setup(preset.argument, info.options(**preset.options)))
    (answer,) = judge.observe("embed", [Query(texts=("a photo of a dog",))])
    assert answer[1].values.shape == (
        {"clip-vit-l14": 768, "clip-vit-l14-336": 768, "openclip-vit-h14": 1024}.get(name, 512),
    )  # type: ignore[union-attr]
    assert judge.settings["logit_scale"] == pytest.approx(100, rel=0.01)  # type: ignore[attr-defined]
