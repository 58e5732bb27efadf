"""Judge `transformers-classifier`, on a small ViT that transformers itself saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import Query
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_transformers.plugin import t2i_judges

NAME = "transformers-classifier"
(INFO,) = (info for info in t2i_judges() if info.name == NAME)


class TestContract(JudgeContract):
    module = "t2i_transformers.plugin"
    name = NAME

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_vit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_vit))


def test_logits_are_the_librarys_own(tiny: Any, tiny_vit: Path, images: list[Image]) -> None:
    from transformers import ViTForImageClassification, ViTImageProcessor

    network = ViTForImageClassification.from_pretrained(tiny_vit).eval()
    processor = ViTImageProcessor.from_pretrained(tiny_vit)
    found = tiny.ask(tiny.made(NAME, tiny_vit, 3), "classify", [Query((image,)) for image in images])
    for image, ours in zip(images, found, strict=True):
        with torch.inference_mode():
            theirs = network(**processor(images=image.pil(), return_tensors="pt")).logits[0]
        np.testing.assert_allclose(ours.logits, theirs.numpy(), rtol=1e-4, atol=1e-5)
        assert [label.name for label in ours.labels] == ["normal", "nsfw", "drawing"]


def test_classes_are_known_before_anything_is_loaded(tiny_vit: Path) -> None:
    assert INFO.labels is not None
    assert [label.name for label in INFO.labels(str(tiny_vit), INFO.options())] == ["normal", "nsfw", "drawing"]


def test_a_checkpoint_with_two_classes_of_one_name_is_refused(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save_vit(tmp_path / "vit", id2label={0: "safe", 1: "nsfw", 2: "nsfw"})
    assert INFO.labels is not None
    with pytest.raises(BadModel, match="does not give each class a name of its own"):
        INFO.labels(str(folder), INFO.options())


def test_a_checkpoint_with_several_classes_of_an_image_is_refused(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save_vit(tmp_path / "vit", id2label={0: "safe", 1: "nsfw"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert INFO.labels is not None
    for kind in ("single_label_classification", "multi_label_classification"):
        (folder / "config.json").write_text(json.dumps({**config, "problem_type": kind}), encoding="utf-8")
        if kind.startswith("single"):
            assert len(INFO.labels(str(folder), INFO.options())) == 2
        else:
            with pytest.raises(BadModel, match="problem type 'multi_label_classification'"):
                INFO.labels(str(folder), INFO.options())
