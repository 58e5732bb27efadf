"""A checkpoint in a single file, as Stable Diffusion was first published, draws what its folder draws."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from t2i_core.api import Generated, ImageRequest, Setup
from t2i_core.api.errors import BadModel, BadOption
from t2i_core.engine.component import settle_component
from t2i_diffusers.generator import Diffusers
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators
from t2i_diffusers.single_file import find_config

INFO = next(info for info in t2i_generators() if info.name == "diffusers")
Single = tuple[Path, Path, Path]
_RESNET = {
    "norm1": "in_layers.0", "conv1": "in_layers.2", "norm2": "out_layers.0", "conv2": "out_layers.3",
    "time_emb_proj": "emb_layers.1", "conv_shortcut": "skip_connection",
}  # fmt: skip
_OUTER = {
    "time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2",
    "conv_in": "input_blocks.0.0", "conv_norm_out": "out.0", "conv_out": "out.2",
}  # fmt: skip
_ATTENTION = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"}


def _unet_places(blocks: int, layers: int, attention: list[bool]) -> Iterator[tuple[str, str]]:
    """Yield the beginnings of names in diffusers and in the original code."""
    for block in range(blocks):
        for layer in range(layers):
            place = f"input_blocks.{(layers + 1) * block + layer + 1}"
            yield f"down_blocks.{block}.resnets.{layer}", f"{place}.0"
            yield f"down_blocks.{block}.attentions.{layer}", f"{place}.1"
        for layer in range(layers + 1):
            place = f"output_blocks.{(layers + 1) * block + layer}"
            yield f"up_blocks.{block}.resnets.{layer}", f"{place}.0"
            yield f"up_blocks.{block}.attentions.{layer}", f"{place}.1"
        down = (layers + 1) * (block + 1)
        yield f"down_blocks.{block}.downsamplers.0.conv", f"input_blocks.{down}.0.op"
        yield f"up_blocks.{block}.upsamplers.0", f"output_blocks.{down - 1}.{2 if attention[block] else 1}"
    yield "mid_block.attentions.0", "middle_block.1"
    yield from ((f"mid_block.resnets.{n}", f"middle_block.{2 * n}") for n in (0, 1))


def _vae_places(blocks: int, layers: int) -> Iterator[tuple[str, str]]:
    for block in range(blocks):
        for layer in range(layers + 1):
            yield f"encoder.down_blocks.{block}.resnets.{layer}", f"encoder.down.{block}.block.{layer}"
            place = f"decoder.up.{blocks - 1 - block}"
            yield f"decoder.up_blocks.{block}.resnets.{layer}", f"{place}.block.{layer}"
        yield f"encoder.down_blocks.{block}.downsamplers.0", f"encoder.down.{block}.downsample"
        yield f"decoder.up_blocks.{block}.upsamplers.0", f"decoder.up.{blocks - 1 - block}.upsample"
    for part in ("encoder", "decoder"):
        yield f"{part}.mid_block.attentions.0", f"{part}.mid.attn_1"
        yield from ((f"{part}.mid_block.resnets.{n}", f"{part}.mid.block_{n + 1}") for n in (0, 1))
        yield f"{part}.conv_norm_out", f"{part}.norm_out"


def _rename(name: str, places: list[tuple[str, str]], parts: dict[str, str]) -> str:
    for ours, original in places:
        if name.startswith(f"{ours}."):
            stem, _, kind = name.removeprefix(f"{ours}.").rpartition(".")
            return f"{original}.{parts.get(stem, stem) + '.' if stem else ''}{kind}"
    return name


def write_original(folder: Path, file: Path) -> Path:
    """Write the weights of a saved tiny pipeline under the names of the original code."""
    weights: dict[str, Any] = {}
    unet = [*_unet_places(2, 1, [False, True]), *_OUTER.items()]
    for name, value in load_file(folder / "unet" / "diffusion_pytorch_model.safetensors").items():
        renamed = _rename(name, unet, _RESNET if ".resnets." in name else {})
        weights[f"model.diffusion_model.{renamed}"] = value
    vae = list(_vae_places(2, 1))
    for name, value in load_file(folder / "vae" / "diffusion_pytorch_model.safetensors").items():
        parts = _ATTENTION if ".attentions." in name else {"conv_shortcut": "nin_shortcut"}
        whole = value[:, :, None, None] if ".attentions." in name and value.ndim == 2 else value
        weights[f"first_stage_model.{_rename(name, vae, parts)}"] = whole
    for name, value in load_file(folder / "text_encoder" / "model.safetensors").items():
        own = name if name.startswith("text_model.") else f"text_model.{name}"
        weights[f"cond_stage_model.transformer.{own}"] = value
    save_file({name: value.contiguous() for name, value in weights.items()}, file)
    return file


@pytest.fixture
def single(checkpoint: Callable[[str], tuple[Path, dict[str, Any]]], tmp_path: Path) -> Single:
    """A tiny checkpoint as a folder, as a single file, and its configuration without weights."""
    folder, _ = checkpoint("StableDiffusionPipeline")
    config = tmp_path / "config"
    shutil.copytree(folder, config, ignore=shutil.ignore_patterns("*.safetensors"))
    return folder, write_original(folder, tmp_path / "tiny.safetensors"), config


def draw(place: Path, requests: list[ImageRequest], **options: Any) -> np.ndarray:
    own: dict[str, Any] = {"steps": 2, "height": 32, "width": 32, **options}
    model = Diffusers(Setup(str(place), DiffusersOptions(**own), "cpu", 2))
    answers = [answer for _, answer in model.generate(requests[:2])]
    assert all(isinstance(answer, Generated) for answer in answers)
    return np.stack([np.asarray(answer.image, int) for answer in answers])


def test_a_single_file_draws_what_its_folder_draws(single: Single, requests: list[ImageRequest]) -> None:
    folder, file, config = single
    assert np.abs(draw(file, requests, config=str(config)) - draw(folder, requests)).max() <= 1


def test_a_denoiser_replaces_that_of_the_file(single: Single, requests: list[ImageRequest]) -> None:
    folder, file, config = single
    weights = load_file(file)
    wrong = {
        key: value * 0 if key.startswith("model.diffusion_model.") else value for key, value in weights.items()
    }
    save_file(wrong, file)
    found = draw(file, requests, config=str(config), denoiser=str(folder / "unet"))
    assert np.abs(found - draw(folder, requests)).max() <= 1


def test_the_plan_checks_file_and_configuration(single: Single) -> None:
    _, file, config = single

    def check(place: Path, **options: Any) -> None:
        INFO.loading.check(Setup(str(place), DiffusersOptions(**options), "cpu", offline=True))

    check(file, config=str(config), steps=3)
    with pytest.raises(BadOption, match="takes no"):
        check(file, config=str(config), call={"no_such": 1})
    with pytest.raises(BadOption, match="config"):
        check(config, config=str(config))
    with pytest.raises(BadModel, match="no such file"):
        check(file.with_name("gone.safetensors"))
    with pytest.raises(BadModel, match=r"model_index\.json"):
        check(file, config=str(config / "unet"))
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(BadModel, match="bytes"):
        check(file, config=str(config))


def test_file_and_configuration_are_in_the_fingerprint(single: Single) -> None:
    _, file, config = single

    def identify() -> str:
        options = DiffusersOptions(config=str(config), dtype="float32")
        return settle_component(INFO, options, str(file)).fingerprint

    first = identify()
    weights = load_file(file)
    name = next(iter(weights))
    save_file({**weights, name: weights[name] + 1}, file)
    second = identify()
    (config / "scheduler" / "scheduler_config.json").write_text('{"_class_name": "DDIMScheduler"}')
    assert len({first, second, identify()}) == 3


def test_a_file_that_lacks_weights_is_refused(single: Single, requests: list[ImageRequest]) -> None:
    _, file, config = single
    weights = load_file(file)
    save_file({key: value for key, value in weights.items() if ".middle_block." not in key}, file)
    with pytest.raises(BadModel, match="lacks"):
        draw(file, requests, config=str(config))


def test_the_configuration_is_told_by_the_weights(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    save_file({"some.weight": torch.zeros(2)}, file)
    with pytest.raises(BadModel, match="option config"):
        find_config(file)
    # a weight that only Stable Diffusion 2 has in this shape
    name = "model.diffusion_model.input_blocks.2.1.transformer_blocks.0.attn2.to_k.weight"
    save_file({name: torch.zeros(2, 1024)}, file)
    assert "stable-diffusion-2" in find_config(file)
