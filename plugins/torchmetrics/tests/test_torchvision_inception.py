"""The judge of DM-GAN's FID: torchvision's own class with random weights, prepared as DM-GAN's code does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from filelock import FileLock
from PIL import Image as PILImage
from t2i_core.api import Query
from t2i_core.api.errors import BadModel, NotHere
from t2i_core.api.image import Image, load_image
from t2i_core.engine.component import settle_component
from t2i_core.testing import JudgeContract, sample_images
from t2i_torchmetrics import weights
from t2i_torchmetrics.judge_plugin import t2i_judges
from t2i_torchmetrics.options import InceptionWeightsOptions
from t2i_torchmetrics.torchvision_inception import load_network, prepare_image

_, INFO = t2i_judges()
(GOLDEN,) = (
    case
    for case in json.loads((Path(__file__).parent / "golden/distribution-metrics.json").read_text())
    if case["id"] == "distribution-metrics-12"
)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with random weights of torchvision's own class, as torchvision publishes them (with AuxLogits)."""
    own = tmp_path_factory.getbasetemp()
    file = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "torchvision-inception.pth"
    with FileLock(f"{file}.lock"):
        if not file.is_file():
            torch.manual_seed(0)
            network = torchvision.models.inception_v3(weights=None, init_weights=False)
            torch.save(network.state_dict(), file)
    return file


def _judge(checkpoint: Path) -> Any:
    options = InceptionWeightsOptions(checkpoint=checkpoint)
    return INFO.create(settle_component(INFO, options).setup(device="cpu"))


@pytest.mark.long
class TestTorchvisionInception(JudgeContract):
    module = "t2i_torchmetrics.judge_plugin"
    name = "inception-v3-torchvision"

    @pytest.fixture(autouse=True)
    def _weights(self, checkpoint: Path) -> None:
        type(self).options = {"checkpoint": str(checkpoint)}

    @pytest.fixture
    def images(self, tmp_path: Path) -> list[Image]:
        """Two sizes, and not square."""
        wide = tmp_path / "wide.png"
        PILImage.fromarray(np.random.default_rng(9).integers(0, 256, (310, 450, 3), dtype=np.uint8)).save(wide)
        return [*sample_images(tmp_path, 2, size=40), load_image(wide)]


@pytest.mark.long
def test_features_are_those_of_torchvision_with_its_own_transforms(checkpoint: Path, tmp_path: Path) -> None:
    """Parity: torchvision's Resize and ToTensor, its network without the head, no ImageNet normalisation."""
    file = tmp_path / "wide.png"
    PILImage.fromarray(np.random.default_rng(1).integers(0, 256, (330, 480, 3), dtype=np.uint8)).save(file)
    network = torchvision.models.inception_v3(weights=None, transform_input=True, init_weights=False)
    network.load_state_dict(torch.load(checkpoint, weights_only=True))
    network.fc = torch.nn.Identity()
    transform = torchvision.transforms.Compose(
        [torchvision.transforms.Resize((299, 299)), torchvision.transforms.ToTensor()]
    )
    with torch.inference_mode():
        expected = network.eval()(transform(PILImage.open(file))[None])[0].numpy()
    ((_, answer),) = _judge(checkpoint).observe("features", [Query((load_image(file),))])
    assert answer.values.shape == (2048,)
    np.testing.assert_allclose(answer.values, expected, rtol=1e-5, atol=1e-6)


def test_the_input_of_the_network_is_that_of_dm_gan(checkpoint: Path) -> None:
    network: Any = load_network(checkpoint)
    for value, expected in zip(GOLDEN["input"], GOLDEN["expected"]["dm_gan"], strict=True):
        found = network._transform_input(torch.full((1, 3, 1, 1), value, dtype=torch.float64)).flatten()
        np.testing.assert_allclose(found, expected, atol=GOLDEN["tolerance"])


def test_images_are_squashed_and_keep_their_range() -> None:
    tensor = prepare_image(np.full((10, 400, 3), 255, np.uint8))
    assert tensor.shape == (3, 299, 299)
    assert tensor.min() == tensor.max() == 1


def test_weights_of_another_network_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pth"
    torch.save(torch.nn.Linear(2, 2).state_dict(), other)
    info = settle_component(INFO, InceptionWeightsOptions(checkpoint=other))
    with pytest.raises(BadModel, match=r"inception-v3-torchvision: .*other\.pth is for another network") as caught:
        INFO.loading.check(info.setup(device="cpu"))
    assert "\n" not in str(caught.value)


def test_offline_without_the_weights_says_where_to_put_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    with pytest.raises(NotHere, match=r"inception_v3_google-0cc3c7bd\.pth, to be put at"):
        INFO.loading.check(settle_component(INFO).setup(device="cpu", offline=True))


def test_another_file_in_the_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / Path(weights.TORCHVISION.url).name).write_bytes(b"something else")
    with pytest.raises(BadModel, match="not 0cc3c7bd"):
        weights.TORCHVISION.fetch(InceptionWeightsOptions(), offline=False)


@pytest.mark.weights
def test_the_published_weights(tmp_path: Path) -> None:
    """They load, from the cache or fetched."""
    judge = INFO.create(settle_component(INFO).setup(device="cpu"))
    ((_, answer),) = judge.observe("features", [Query((sample_images(tmp_path, 1)[0],))])
    assert answer.values.shape == (2048,)
    assert answer.values.min() >= 0
