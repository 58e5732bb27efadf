"""Judge `timm-features`, on small checkpoints that timm itself saves."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from t2i_core.api import JudgeInfo, Query, Setup
from t2i_core.api.errors import BadModel, NotHere
from t2i_core.testing import JudgeContract, sample_images
from t2i_timm import plugin
from t2i_timm.options import TimmFeatureOptions
from torchvision.transforms import Normalize, ToTensor

(INFO,) = (i for i in plugin.t2i_judges() if i.name == "timm-features")
assert isinstance(INFO, JudgeInfo)


def make_judge(argument: Any, **options: Any) -> Any:
    return INFO.create(Setup(str(argument), TimmFeatureOptions(**options), "cpu", None, offline=True))


def read_features(judge: Any, images: list[Any]) -> np.ndarray:
    queries = [Query((image,)) for image in images]
    return np.stack([found.values for _, found in judge.observe("features", iter(queries))])


class TestContract(JudgeContract):
    module = "t2i_timm.plugin"
    name = "timm-features"
    tolerance = 1e-5

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_timm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_timm))


@pytest.mark.parametrize("preprocessing", ["model", "whole"])
def test_features_are_what_timm_gives_to_its_classifier(
    tiny_timm: Path, tmp_path: Path, preprocessing: str
) -> None:
    import timm

    images = sample_images(tmp_path, 3, 40)
    model = timm.create_model(f"local-dir:{tiny_timm}", pretrained=True).eval()
    config = timm.data.resolve_model_data_config(model)
    own = timm.data.create_transform(**config, is_training=False)
    normalise = Normalize(config["mean"], config["std"])
    opened = [PILImage.open(image.path) for image in images]
    whole = [normalise(ToTensor()(each.resize((32, 32), PILImage.Resampling.BICUBIC))) for each in opened]
    given = whole if preprocessing == "whole" else [own(each) for each in opened]
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(torch.stack(given)), pre_logits=True).numpy()
    found = read_features(make_judge(tiny_timm, preprocessing=preprocessing), images)
    assert expected.shape == (3, 24)
    assert expected.std() > 0.1
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_images_of_another_size_need_other_positions(tiny_timm: Path, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 2, 40)
    judge = make_judge(tiny_timm, size=48)
    found = read_features(judge, images)
    assert found.shape == (2, 24)
    assert judge.settings["input_size"] == (3, 48, 48)
    assert np.abs(found - read_features(make_judge(tiny_timm), images)).max() > 1e-3


def test_other_weights_of_the_architecture(tiny_timm: Path, tmp_path: Path, save_timm: Any) -> None:
    other = save_timm(tmp_path / "other", 10)
    images = sample_images(tmp_path, 2, 40)
    found = read_features(make_judge(other), images)
    shutil.copy(other / "model.safetensors", tmp_path / "mine.safetensors")
    again = read_features(make_judge(other, checkpoint=tmp_path / "mine.safetensors"), images)
    np.testing.assert_array_equal(found, again)


def save_network(folder: Path, architecture: str, **changes: Any) -> Path:
    import timm
    from timm.models import save_for_hf

    save_for_hf(timm.create_model(architecture, num_classes=3, **changes), str(folder), safe_serialization=True)
    return folder


def test_a_convolutional_network_reads_images_of_any_size(tmp_path: Path) -> None:
    images = sample_images(tmp_path, 2, 40)
    network = save_network(tmp_path / "network", "resnet10t")
    assert read_features(make_judge(network, size=64), images).shape == (2, 512)


def test_a_size_that_the_network_cannot_read_is_told_by_the_plan(tmp_path: Path) -> None:
    of_patches = {"img_size": 32, "embed_dim": 24, "depth": 1, "num_heads": 2}
    network = save_network(tmp_path / "network", "vit_tiny_patch16_224", **of_patches)
    assert INFO.loading.check
    with pytest.raises(BadModel, match=r"timm-features:.* cannot be loaded with size=8 from"):
        INFO.loading.check(Setup(str(network), TimmFeatureOptions(size=8), "cpu"))


def test_missing_weights_name_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert INFO.loading.check
    setup = Setup("vit_large_patch14_dinov2.lvd142m", TimmFeatureOptions(), "cpu", offline=True)
    with pytest.raises(NotHere, match=r"timm-features:vit_large_patch14_dinov2\.lvd142m"):
        INFO.loading.check(setup)
