"""The judge against torch-fidelity's own class, which published numbers come from."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from safetensors.torch import save_file
from t2i_core.api import Query
from t2i_core.api.errors import BadModel, BadOption, NotHere
from t2i_core.api.image import Image, load_image
from t2i_core.engine.component import settle_component
from t2i_core.files.digest import digest_file
from t2i_core.testing import JudgeContract, sample_images
from t2i_torchmetrics import weights
from t2i_torchmetrics.judge_plugin import OUTPUTS, t2i_judges
from t2i_torchmetrics.options import InceptionOptions
from torch_fidelity import FeatureExtractorInceptionV3

INFO, _ = t2i_judges()


@pytest.mark.long
class TestInception(JudgeContract):
    module = "t2i_torchmetrics.judge_plugin"
    name = "inception-v3"

    @pytest.fixture(autouse=True)
    def _weights(self, random_inception: Path) -> None:
        type(self).options = {"checkpoint": str(random_inception)}

    @pytest.fixture
    def images(self, tmp_path: Path) -> list[Image]:
        """Two sizes, and not square."""
        small = sample_images(tmp_path, 2, size=40)
        wide = tmp_path / "wide.png"
        PILImage.fromarray(np.random.default_rng(9).integers(0, 256, (310, 450, 3), dtype=np.uint8)).save(wide)
        return [*small, load_image(wide)]


def _judge(**options: Any) -> Any:
    return INFO.create(settle_component(INFO, InceptionOptions(**options)).setup(device="cpu"))


@pytest.fixture(scope="module")
def plain(random_inception: Path) -> Any:
    """The judge with default options, made once."""
    return _judge(checkpoint=random_inception)


def _features(judge: Any, image: Image) -> Any:
    return next(iter(judge.observe("features", [Query((image,))])))[1].values


def _pixels(images: list[Image]) -> torch.Tensor:
    return torch.from_numpy(np.stack([i.pixels for i in images]).transpose(0, 3, 1, 2).copy())


@pytest.mark.long
def test_it_says_what_the_original_says(random_inception: Path, plain: Any, tmp_path: Path) -> None:
    images = sample_images(tmp_path, 2, size=64)
    original = FeatureExtractorInceptionV3("x", ["2048", "logits_unbiased"], str(random_inception))
    expected = [vectors.numpy() for vectors in original(_pixels(images))]
    for capability, field, vectors in zip(("features", "classify"), ("values", "logits"), expected, strict=True):
        found = [getattr(a, field) for _, a in plain.observe(capability, [Query((i,)) for i in images])]
        np.testing.assert_allclose(np.stack(found), vectors, rtol=1e-5, atol=1e-5 * np.abs(vectors).max())
        assert np.abs(found[0] - found[1]).max() > 0.01 * np.abs(vectors).max()  # random weights that tell apart
    assert found[0].shape == (OUTPUTS,)


@pytest.mark.long
def test_the_two_ways_to_resize_differ_where_images_shrink(
    random_inception: Path, plain: Any, tmp_path: Path
) -> None:
    file = tmp_path / "large.png"
    PILImage.fromarray(np.random.default_rng(0).integers(0, 256, (600, 600, 3), dtype=np.uint8)).save(file)
    other = _judge(checkpoint=random_inception, resize="antialias")
    published, smooth = (_features(judge, load_image(file)) for judge in (plain, other))
    assert np.abs(published - smooth).max() > 0.1 * np.abs(published).max()


@pytest.mark.long
def test_safetensors_are_taken_too(random_inception: Path, plain: Any, tmp_path: Path) -> None:
    state = torch.load(random_inception, weights_only=True)
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, tmp_path / "w.safetensors")
    (image,) = sample_images(tmp_path, 1)
    again = _judge(checkpoint=tmp_path / "w.safetensors")
    np.testing.assert_array_equal(_features(again, image), _features(plain, image))


class _Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return (self.mark.mkdir, ())


def test_a_pickle_of_more_than_weights_is_refused(tmp_path: Path) -> None:
    file, mark = tmp_path / "bomb.pth", tmp_path / "went off"
    file.write_bytes(pickle.dumps(_Bomb(mark)))
    with pytest.raises(BadModel, match=r"does not hold weights \(its pickle cannot be read with care"):
        _judge(checkpoint=file)
    assert not mark.exists()
    pickle.loads(file.read_bytes())
    assert mark.exists()


@pytest.mark.parametrize("content", [bytes(range(256)) * 4, b"", b"prompt,file\n", b"PK\x03\x04 cut"])
def test_a_file_that_holds_no_weights_is_refused_without_advice_to_trust_it(
    tmp_path: Path, content: bytes
) -> None:
    """By the plan too: torch's own words are to read such files without care."""
    file = tmp_path / "w.pt"
    file.write_bytes(content)
    info = settle_component(INFO, InceptionOptions(checkpoint=file))
    for tried in (lambda: INFO.loading.check(info.setup(device="cpu")), lambda: _judge(checkpoint=file)):
        with pytest.raises(BadModel, match=r"inception-v3: .*w\.pt does not hold weights") as error:
            tried()
        assert not [word for word in ("weights_only", "arbitrary", "x1b", "\n") if word in str(error.value)]


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    torch.save({"fc.weight": torch.zeros(2, 2)}, tmp_path / "other.pth")
    info = settle_component(INFO, InceptionOptions(checkpoint=tmp_path / "other.pth"))
    for tried in (lambda: INFO.loading.check(info.setup()), lambda: INFO.create(info.setup(device="cpu"))):
        with pytest.raises(BadModel, match="is for another network"):
            tried()


def test_weights_that_fit_are_taken_by_the_plan(random_inception: Path) -> None:
    INFO.loading.check(settle_component(INFO, InceptionOptions(checkpoint=random_inception)).setup(offline=True))


def test_missing_weights_are_said_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    with pytest.raises(BadModel, match="t2i prefetch inception-v3"):
        INFO.loading.check(settle_component(INFO).setup(offline=True))
    with pytest.raises(BadModel, match="does not exist"):
        INFO.loading.check(settle_component(INFO, InceptionOptions(checkpoint=tmp_path / "none.pth")).setup())


def test_without_a_network_missing_weights_are_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to fetch elsewhere, and where to put it."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    unreachable = replace(weights.TENSORFLOW, find_url=lambda: "http://127.0.0.1:1/inception.pth")
    monkeypatch.setattr(weights, "TENSORFLOW", unreachable)
    with pytest.raises(NotHere) as error:
        INFO.loading.check(settle_component(INFO).setup())
    put = tmp_path / "checkpoints" / "inception.pth"
    assert str(error.value).startswith(
        f"no network, and inception-v3 (http://127.0.0.1:1/inception.pth, to be put at {put}) is not on this "
        "machine: "
    )
    put.parent.mkdir()
    put.write_bytes(b"here")
    INFO.loading.check(settle_component(INFO).setup())


def test_a_gpu_that_is_not_there_is_told_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(BadOption, match="device 'cuda': this machine has no CUDA device"):
        INFO.loading.check(settle_component(INFO).setup(device="cuda"))


def test_another_file_in_the_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / Path(weights.TENSORFLOW.url).name).write_bytes(b"something else")
    with pytest.raises(BadModel, match=f"not {weights.TENSORFLOW.sha256}"):
        weights.TENSORFLOW.fetch(InceptionOptions(), offline=False)


def test_prefetch_takes_what_a_server_has_and_checks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = tmp_path / "served.pth"
    served.write_bytes(b"these are not the published weights")
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    published = replace(weights.TENSORFLOW, find_url=served.as_uri)
    monkeypatch.setattr(weights, "TENSORFLOW", published)
    with pytest.raises(BadModel, match="gives another file: its SHA-256 is"):
        INFO.loading.prefetch(settle_component(INFO).setup())
    monkeypatch.setattr(weights, "TENSORFLOW", replace(published, sha256=digest_file(served)))
    INFO.loading.prefetch(settle_component(INFO).setup())
    assert (tmp_path / "checkpoints" / served.name).read_bytes() == served.read_bytes()
    INFO.loading.check(settle_component(INFO).setup(offline=True))


@pytest.mark.weights
def test_the_published_weights(tmp_path: Path) -> None:
    """They load, from the cache or fetched, and are those that torch-fidelity names."""
    judge = _judge()
    (answer,) = (a for _, a in judge.observe("features", [Query((sample_images(tmp_path, 1)[0],))]))
    assert answer.values.shape == (2048,)
    assert answer.values.min() >= 0
