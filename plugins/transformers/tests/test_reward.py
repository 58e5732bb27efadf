"""Judge `transformers-reward`, on small CLIPs and SigLIPs that transformers itself saves."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import Failure, Query
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract

NAME = "transformers-reward"
TEXTS = ("a cat", "two dogs on grass", "a", "", "cut, for it is far too long a text")


class TestClip(JudgeContract):
    module = "t2i_transformers.plugin"
    name = NAME
    tolerance = 1e-5

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_clip))


def rewards(tiny: Any, judge: Any, images: list[Image]) -> np.ndarray:
    """Each text's reward for each image, (texts, images)."""
    queries = [Query((image,), (text,)) for text in TEXTS for image in images]
    found = [reward.value for reward in tiny.ask(judge, "reward", queries)]
    return np.array(found).reshape(len(TEXTS), len(images))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tiny_clip", "tiny_siglip"])
def test_rewards_are_the_models_own_logits(
    tiny: Any, kind: str, images: list[Image], request: pytest.FixtureRequest
) -> None:
    from transformers import AutoModel, AutoProcessor

    folder = request.getfixturevalue(kind)
    network, processor = AutoModel.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)
    inputs = processor(
        images=[i.pil() for i in images], text=list(TEXTS), padding="max_length", max_length=24, truncation=True,
        return_tensors="pt",
    )  # fmt: skip
    with torch.inference_mode():
        expected = network(**inputs).logits_per_text.numpy()
    judge = tiny.made(NAME, folder, 7)
    np.testing.assert_allclose(rewards(tiny, judge, images), expected, atol=1e-5)
    assert expected.std() > 0.01
    assert ("logit_bias" in network.state_dict()) == (kind == "tiny_siglip")
    assert judge.settings["logit_bias"] == (0.5 if kind == "tiny_siglip" else 0)
    assert json.loads(json.dumps(judge.settings)) == judge.settings
    np.testing.assert_allclose(rewards(tiny, tiny.made(NAME, folder, 1), images), expected, atol=1e-5)


def test_vectors_are_what_rewards_are_made_of(tiny: Any, tiny_clip: Path, images: list[Image]) -> None:
    judge = tiny.made(NAME, tiny_clip)
    asked = [*(Query((image,)) for image in images), *(Query(texts=(text,)) for text in TEXTS)]
    vectors = np.stack([embedding.values for embedding in tiny.ask(judge, "embed", asked)])
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > 0.1  # they are not normalised
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[len(images) :] @ vectors[: len(images)].T
    found = rewards(tiny, judge, images)
    np.testing.assert_allclose(found, judge.settings["logit_scale"] * cosines, atol=1e-4)


def test_a_text_and_an_image_are_embedded_once_a_batch(tiny: Any, tiny_clip: Path, images: list[Image]) -> None:
    judge = tiny.made(NAME, tiny_clip, 64)
    counts = {"get_image_features": 0, "get_text_features": 0}
    for name in counts:
        work = getattr(judge.loaded.network, name)

        def counted(name: str = name, work: Any = work, **features: Any) -> Any:
            counts[name] += len(next(iter(features.values())))
            return work(**features)

        setattr(judge.loaded.network, name, counted)
    rewards(tiny, judge, images)
    assert counts == {"get_image_features": len(images), "get_text_features": len(TEXTS)}


def test_a_text_that_is_cut_is_said(
    tiny: Any, tiny_clip: Path, images: list[Image], caplog: pytest.LogCaptureFixture
) -> None:
    judge = tiny.made(NAME, tiny_clip)
    with caplog.at_level(logging.WARNING, "t2i_transformers"):
        rewards(tiny, judge, images[:1])
        found = tiny.ask(judge, "embed", [Query(texts=(text,)) for text in TEXTS])
    assert [vector.cut_to for vector in found] == [24 if text.startswith("cut") else None for text in TEXTS]
    assert "truncated to the model's 24: 'cut, for" in caplog.text


def test_questions_that_cannot_be_answered_fail_alone(tiny: Any, tiny_clip: Path, images: list[Image]) -> None:
    judge = tiny.made(NAME, tiny_clip)
    asked = [Query((images[0],)), Query((images[0],), ("a cat",)), Query(texts=("a cat",))]
    kinds = [isinstance(answer, Failure) for answer in tiny.ask(judge, "reward", asked)]
    assert kinds == [True, False, True]


def test_the_processor_of_another_place(tiny: Any, tiny_clip: Path, tmp_path: Path, images: list[Image]) -> None:
    """PickScore is used with the processor of the CLIP that it was made of."""
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "model.safetensors"):
        (bare / name).write_bytes((tiny_clip / name).read_bytes())
    with pytest.raises(BadModel, match="its processor cannot be loaded"):
        tiny.made(NAME, bare)
    judge = tiny.made(NAME, bare, processor=str(tiny_clip))
    np.testing.assert_array_equal(rewards(tiny, judge, images), rewards(tiny, tiny.made(NAME, tiny_clip), images))
    info = tiny.OFFERED[NAME]
    alone, both = (
        list(info.loading.weights(str(bare), info.options(processor=p))) for p in (None, str(tiny_clip))
    )
    assert {str(p) for p in both} - {str(p) for p in alone} >= {str(tiny_clip / "tokenizer.json")}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(tiny: Any, tiny_clip: Path, images: list[Image], dtype: str) -> None:
    full = rewards(tiny, tiny.made(NAME, tiny_clip), images)
    half = rewards(tiny, tiny.made(NAME, tiny_clip, dtype=dtype), images)
    assert 0 < np.abs(half - full).max() < 0.1 * np.abs(full).max()
