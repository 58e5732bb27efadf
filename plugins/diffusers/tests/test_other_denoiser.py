"""The option `denoiser`: another denoiser in place of the checkpoint's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from t2i_core.api import Generated, ImageRequest, Setup
from t2i_core.api.errors import BadModel
from t2i_core.engine.component import settle_component
from t2i_diffusers.generator import Diffusers
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators

INFO: Any = next(info for info in t2i_generators() if info.name == "diffusers")
WEIGHTS = "diffusion_pytorch_model.safetensors"


def draw(place: Path, requests: list[ImageRequest], **options: Any) -> np.ndarray:
    model = Diffusers(Setup(str(place), DiffusersOptions(**options), "cpu", 2))
    answers = [answer for _, answer in model.generate(requests[:2])]
    assert all(isinstance(answer, Generated) for answer in answers)
    return np.stack([np.asarray(answer.image, int) for answer in answers])


def check(place: Path, **options: Any) -> None:
    INFO.loading.check(Setup(str(place), DiffusersOptions(**options), "cpu", offline=True))


def train_further(folder: Path, part: str, out: Path) -> Path:
    """Save a checkpoint's denoiser with other weights, as a training would, and return its folder."""
    index = json.loads((folder / "model_index.json").read_text())
    denoiser = getattr(diffusers, index[part][1]).from_pretrained(folder / part)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in denoiser.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    denoiser.save_pretrained(out)
    return out


@pytest.fixture
def folder(checkpoint: Any, tmp_path: Path) -> Path:
    """A Stable Diffusion checkpoint."""
    return Path(shutil.copytree(checkpoint("StableDiffusionPipeline")[0], tmp_path / "model"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("pipeline", "part"), [("StableDiffusionPipeline", "unet"), ("PixArtSigmaPipeline", "transformer")]
)
def test_images_are_those_of_a_checkpoint_with_that_denoiser(
    pipeline: str, part: str, checkpoint: Any, requests: list[ImageRequest], tmp_path: Path
) -> None:
    original, options = checkpoint(pipeline)
    other = train_further(original, part, tmp_path / "other")
    whole = Path(shutil.copytree(original, tmp_path / "whole"))
    shutil.rmtree(whole / part)
    shutil.copytree(other, whole / part)

    check(original, **options, denoiser=str(other))
    found = draw(original, requests, **options, denoiser=str(other))
    assert np.array_equal(found, draw(whole, requests, **options))
    assert not np.array_equal(found, draw(original, requests, **options))


def test_the_fingerprint_has_its_weights_and_not_the_replaced_ones(folder: Path, tmp_path: Path) -> None:
    other = train_further(folder, "unet", tmp_path / "other")

    def identify(**options: Any) -> str:
        settled = DiffusersOptions(dtype="float32", **options)
        return settle_component(INFO, settled, str(folder)).fingerprint

    plain, first = identify(), identify(denoiser=str(other))
    original = (other / WEIGHTS).read_bytes()
    (folder / "unet" / WEIGHTS).write_bytes(original)
    assert plain != identify()
    assert first == identify(denoiser=str(other))
    (other / WEIGHTS).write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
    assert len({plain, first, identify(denoiser=str(other))}) == 3


def replace_in_config(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


UNFIT: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "is not a folder"),
    "no config": (lambda other: (other / "config.json").unlink(), "holds no denoiser"),
    "broken config": (lambda other: (other / "config.json").write_text("[]"), "broken config"),
    "no weights": (lambda other: (other / WEIGHTS).unlink(), "no weights"),
    "cut weights": (lambda other: (other / WEIGHTS).write_bytes((other / WEIGHTS).read_bytes()[:-5]), "damaged"),
    "class": (lambda other: replace_in_config(other, _class_name="PixArtTransformer2DModel"), "_class_name"),
    "width of texts": (lambda other: replace_in_config(other, cross_attention_dim=99), "cross_attention_dim"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_denoiser_that_does_not_fit_is_one_line_before_anything_is_loaded(
    case: str, folder: Path, tmp_path: Path
) -> None:
    other = train_further(folder, "unet", tmp_path / "other")
    damage, cause = UNFIT[case]
    damage(other)
    for attempt in (
        check,
        lambda place, **options: Diffusers(Setup(str(place), DiffusersOptions(**options), "cpu")),
    ):
        with pytest.raises(BadModel) as error:
            attempt(folder, denoiser=str(other))
        told = str(error.value)
        assert "\n" not in told
        assert all(part in told for part in ("denoiser", str(other), cause))


def test_weights_that_the_denoiser_lacks_are_not_made_up(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    other = train_further(folder, "unet", tmp_path / "other")
    weights = load_file(other / WEIGHTS)
    del weights["conv_in.weight"]
    save_file(weights, other / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(BadModel, match=r"conv_in\.weight"):
        Diffusers(Setup(str(folder), DiffusersOptions(denoiser=str(other)), "cpu"))


def test_a_whole_pipeline_in_place_of_a_denoiser_names_the_folder_within_it(folder: Path) -> None:
    with pytest.raises(BadModel) as error:
        check(folder, denoiser=str(folder))
    assert str(folder / "unet") in str(error.value)


def test_a_pipeline_without_such_a_part_is_refused(folder: Path, checkpoint: Any) -> None:
    place, options = checkpoint("UnCLIPPipeline")
    with pytest.raises(BadModel) as error:
        check(place, **options, denoiser=str(folder / "unet"))
    assert "UnCLIPPipeline" in str(error.value)
