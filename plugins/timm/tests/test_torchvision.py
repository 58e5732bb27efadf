"""Judge `torchvision` and the presets that stand on it, on real architectures with random weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image as PILImage
from safetensors.torch import save_file
from t2i_core.api import JudgeInfo, Preset, Query, Setup
from t2i_core.api.errors import BadModel, BadOption, UnknownName
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract, sample_images
from t2i_timm import plugin, torchvision_models
from t2i_timm.options import ClassifierOptions

NAME = "shufflenet_v2_x0_5.IMAGENET1K_V1"
OFFERED = {offered.name: offered for offered in plugin.t2i_judges()}
INFO = OFFERED["torchvision"]
assert isinstance(INFO, JudgeInfo)


def setup(offline: bool = True, batch_size: int | None = None, argument: str = NAME, **options: Any) -> Setup[Any]:
    return Setup(argument, ClassifierOptions(**options), "cpu", batch_size, offline)


def logits(judge: Any, images: Sequence[Image]) -> np.ndarray:
    return np.stack([s.logits for _, s in judge.observe("classify", [Query((image,)) for image in images])])


@pytest.fixture(scope="module")
def network() -> torch.nn.Module:
    torch.manual_seed(0)
    made = torchvision.models.shufflenet_v2_x0_5(weights=None)
    for module in made.modules():  # as torchvision makes them, all logits are alike
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1
    with torch.no_grad():
        made.train()(torch.randn(8, 3, 224, 224))
    return made.eval()


@pytest.fixture(scope="module")
def weights(network: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("torchvision") / "shufflenet.safetensors"
    save_file(network.state_dict(), file)
    return file


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for downloads."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    return tmp_path / "hub" / "checkpoints"


class TestContract(JudgeContract):
    module = "t2i_timm.plugin"
    name = "torchvision"
    argument = NAME
    tolerance = 1e-5

    @pytest.fixture(autouse=True)
    def _weights(self, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "options", {"checkpoint": str(weights)})


@pytest.mark.long
@pytest.mark.parametrize("preprocessing", ["model", "paper", "reference"])
def test_logits_are_torchvisions_own(
    network: torch.nn.Module, weights: Path, tmp_path: Path, preprocessing: str
) -> None:
    images = sample_images(tmp_path, 3, 300)
    own = torchvision.models.ShuffleNet_V2_X0_5_Weights.IMAGENET1K_V1.transforms()
    tensors = []
    for image in images:
        picture = PILImage.open(image.path).convert("RGB")
        if preprocessing == "paper":
            pixels = np.asarray(picture.resize((224, 224), PILImage.Resampling.BILINEAR), np.float32) / 255
            scaled = (pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
            tensors.append(torch.tensor(scaled, dtype=torch.float32).permute(2, 0, 1))
        elif preprocessing == "reference":
            tensors.append(own(picture.resize((224, 224))))  # Pillow's own default is bicubic
        else:
            tensors.append(own(picture))
    with torch.inference_mode():
        expected = network(torch.stack(tensors)).numpy()
    assert expected.std() > 0.1
    judge = INFO.create(setup(checkpoint=weights, preprocessing=preprocessing, batch_size=2))
    np.testing.assert_allclose(logits(judge, images), expected, atol=1e-5)


def test_presets_are_the_papers_classifiers() -> None:
    presets = [p for p in OFFERED.values() if isinstance(p, Preset) and p.of == "t2i-timm/torchvision"]
    assert [p.name for p in presets] == ["vit-b16", "convnext-b", "resnet50"]
    for preset in presets:
        assert preset.argument
        entry = torchvision_models.find(preset.argument)
        assert entry.name == "IMAGENET1K_V1"
        assert entry.transforms().crop_size == [224]
        assert ClassifierOptions(**preset.options).preprocessing == "paper"
        assert entry.meta["num_params"] * 4 / 1e9 < (preset.about.memory_gb or 0)


def test_every_model_is_found_by_the_name_it_has() -> None:
    names = torchvision.models.list_models(torchvision.models, exclude=["googlenet", "inception_v3"])
    assert len(names) > 70
    for name in names:
        for weights in torchvision.models.get_model_weights(name):
            if weights.name == "IMAGENET1K_FEATURES":
                with pytest.raises(UnknownName):
                    torchvision_models.find(f"{name}.{weights.name}")
                continue
            found = torchvision_models.find(f"{name}.{weights.name}")
            assert (found, torchvision_models._model(found)) == (weights, name)
            assert len(weights.meta["categories"]) == 1000


def test_names_are_checked_before_anything_is_loaded() -> None:
    assert INFO.loading.check
    with pytest.raises(UnknownName, match="did you mean 'vit_b_16'"):
        INFO.loading.check(setup(offline=False, argument="vit_b16.IMAGENET1K_V1"))
    with pytest.raises(UnknownName, match="it has IMAGENET1K_V1, IMAGENET1K_V2"):
        INFO.loading.check(setup(offline=False, argument="resnet50.V1"))
    for name, elsewhere in (("googlenet", "timm has no"), ("inception_v3", r"timm:inception_v3\.tv_in1k")):
        with pytest.raises(UnknownName, match=f"{name} of torchvision is not supported, .*{elsewhere}"):
            INFO.loading.check(setup(offline=False, argument=f"{name}.IMAGENET1K_V1"))
    says = r"resnet50 names no weights; it has IMAGENET1K_V1, IMAGENET1K_V2; write .*:resnet50\.IMAGENET1K_V1"
    with pytest.raises(UnknownName, match=says):
        INFO.loading.check(setup(offline=False, argument="resnet50"))
    INFO.loading.check(setup(offline=False))


def test_offline_says_what_to_fetch(hub: Path) -> None:
    assert INFO.loading.check
    with pytest.raises(
        BadModel, match=r"shufflenetv2_x0\.5-.*\.pth is not on this machine.*t2i prefetch torchvision:shuffle"
    ):
        INFO.loading.check(setup())


def test_prefetched_weights_are_loaded_and_checked(
    network: torch.nn.Module, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download of a file whose name holds its digest, from a place of this machine."""
    pickled = tmp_path / "weights.pth"
    torch.save(network.state_dict(), pickled)
    digest = hashlib.sha256(pickled.read_bytes()).hexdigest()
    published = pickled.rename(tmp_path / f"shufflenet-{digest[:8]}.pth")
    entry = torchvision_models.find(NAME)
    monkeypatch.setattr(type(entry), "url", property(lambda self: published.as_uri()))
    images = sample_images(tmp_path, 2)
    assert INFO.loading.prefetch
    INFO.loading.prefetch(setup(offline=False))
    fetched = hub / published.name
    assert fetched.read_bytes() == published.read_bytes()
    published.unlink()
    INFO.loading.prefetch(setup(offline=False))  # it is there: nothing is asked for
    assert np.isfinite(logits(INFO.create(setup()), images)).all()

    fetched.write_bytes(fetched.read_bytes()[:-100])  # a download that was cut
    with pytest.raises(BadModel, match=f"its SHA-256 is .*, not {digest[:8]}"):
        INFO.create(setup())
    fetched.unlink()
    with pytest.raises(BadModel, match="is not on this machine"):
        INFO.loading.prefetch(setup(offline=False))


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    save_file({"head": torch.zeros(2)}, tmp_path / "other.safetensors")
    assert INFO.loading.check
    for refused in (INFO.loading.check, INFO.create):
        with pytest.raises(BadModel, match="does not hold its weights"):
            refused(setup(checkpoint=tmp_path / "other.safetensors"))
    missing = setup(offline=False, checkpoint=tmp_path / "none.safetensors")
    for refused in (INFO.loading.check, INFO.create):
        with pytest.raises(BadModel, match="does not exist"):
            refused(missing)


def test_weights_that_fit_are_not_loaded_by_the_plan(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    monkeypatch.setattr(
        torchvision_models, "check_head",
        lambda network, *others: looked_at.append(next(network.parameters()).device.type),
    )  # fmt: skip
    assert INFO.loading.check
    INFO.loading.check(setup(offline=False, checkpoint=weights))
    assert looked_at == ["meta"]


def test_a_gpu_that_is_not_there_is_told_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert INFO.loading.check
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        INFO.loading.check(Setup(NAME, ClassifierOptions(), "cuda"))
