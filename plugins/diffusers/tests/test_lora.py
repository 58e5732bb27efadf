"""LoRAs that peft and diffusers saved: drawn with their weights, pinned in the fingerprint, recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diffusers import StableDiffusionPipeline
from diffusers.utils import convert_state_dict_to_diffusers
from peft import LoraConfig
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file
from t2i_core.api import Generated, ImageRequest, Setup
from t2i_core.api.errors import BadModel, BadOption, MissingDependency, NotHere
from t2i_core.engine.component import settle_component
from t2i_diffusers import lora
from t2i_diffusers.generator import Diffusers
from t2i_diffusers.options import DiffusersOptions, LoraOptions
from t2i_diffusers.plugin import t2i_generators

INFO = next(info for info in t2i_generators() if info.name == "diffusers")
Adapters = tuple[Path, Path, Path]


@pytest.fixture(scope="session")
def adapters(
    checkpoint: Callable[[str], tuple[Path, dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> Adapters:
    """A tiny checkpoint, and two LoRAs of its denoiser with random weights."""
    folder, _ = checkpoint("StableDiffusionPipeline")
    made = tmp_path_factory.mktemp("lora")
    for seed, name in enumerate(("one", "two")):
        pipe = StableDiffusionPipeline.from_pretrained(folder)
        targets = ["to_q", "to_k", "to_v", "to_out.0"]
        torch.manual_seed(seed)
        pipe.unet.add_adapter(LoraConfig(r=2, lora_alpha=2, init_lora_weights=False, target_modules=targets))
        layers = convert_state_dict_to_diffusers(get_peft_model_state_dict(pipe.unet))
        StableDiffusionPipeline.save_lora_weights(made / name, unet_lora_layers=layers)
    return folder, made / "one", made / "two"


def load(folder: Path, *loras: str, **options: Any) -> Diffusers:
    own: dict[str, Any] = {"steps": 2, "height": 32, "width": 32, **options}
    return Diffusers(Setup(str(folder), DiffusersOptions(lora=loras, **own), "cpu", 2))


def draw(folder: Path, requests: list[ImageRequest], *loras: str) -> np.ndarray:
    answers = [answer for _, answer in load(folder, *loras).generate(requests[:2])]
    assert all(isinstance(answer, Generated) for answer in answers)
    return np.stack([np.asarray(answer.image, int) for answer in answers])


@pytest.mark.long
def test_weights_of_loras_add_up(adapters: Adapters, requests: list[ImageRequest]) -> None:
    folder, one, two = adapters
    plain, whole = draw(folder, requests), draw(folder, requests, f"{one}")
    assert np.abs(whole - plain).max() > 5
    assert np.abs(draw(folder, requests, f"{one}:0") - plain).max() <= 1
    assert np.abs(draw(folder, requests, f"{one}:0.5", f"{one / lora.WEIGHTS}:0.5") - whole).max() <= 1
    both = draw(folder, requests, f"{one}:0.7", f"{two}:0.4")
    assert np.abs(both - draw(folder, requests, f"{two}:0.4", f"{one}:0.7")).max() <= 1
    assert np.abs(both - draw(folder, requests, f"{one}:0.7")).max() > 1


def test_loras_are_recorded(adapters: Adapters) -> None:
    folder, one, _ = adapters
    (record,) = load(folder, f"{one}:0.5").settings["lora"]
    assert (record["model"], record["weight"], record["file"]) == (str(one), 0.5, lora.WEIGHTS)
    assert len(record["sha256"]) == 64


def test_file_and_weight_are_in_the_fingerprint(adapters: Adapters, tmp_path: Path) -> None:
    folder, one, two = adapters
    file = tmp_path / "x.safetensors"

    def identify(weight: float) -> str:
        options = DiffusersOptions(lora=(f"{file}:{weight}",), dtype="float32")
        return settle_component(INFO, options, str(folder)).fingerprint

    file.write_bytes((one / lora.WEIGHTS).read_bytes())
    first = [identify(0.5), identify(0.5), identify(0.6)]
    file.write_bytes((two / lora.WEIGHTS).read_bytes())
    assert first[0] == first[1]
    assert len({*first, identify(0.5)}) == 3


@pytest.mark.parametrize(
    ("text", "model", "weight"),
    [
        ("a/b", "a/b", 1.0),
        ("a/b:0.8", "a/b", 0.8),
        ("x.safetensors:-1", "x.safetensors", -1.0),
        ("C:/x.safetensors", "C:/x.safetensors", 1.0),
        ("C:/x:2", "C:/x", 2.0),
    ],
)
def test_a_text_is_place_and_weight(text: str, model: str, weight: float) -> None:
    (read,) = DiffusersOptions(lora=(text,)).lora
    assert (read.model, read.weight) == (model, weight)


def test_wrong_loras_are_refused_before_anything_loads(
    adapters: Adapters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, one, _ = adapters

    def check(place: str, **fields: Any) -> None:
        options = DiffusersOptions(lora=(LoraOptions(model=place, **fields),))
        INFO.loading.check(Setup(str(folder), options, "cpu", offline=True))

    check(str(one))
    (tmp_path / "x.safetensors").write_bytes((one / lora.WEIGHTS).read_bytes()[:-3])
    (tmp_path / "x.bin").write_bytes(b"x")
    with pytest.raises(BadModel, match="bytes"):
        check(str(tmp_path / "x.safetensors"))
    with pytest.raises(BadModel, match="pickles"):
        check(str(tmp_path / "x.bin"))
    with pytest.raises(BadModel, match=r"x\.safetensors: name one"):
        check(str(tmp_path))
    with pytest.raises(BadModel, match="exists"):
        check("models/gone.safetensors")
    with pytest.raises(NotHere):
        check("some-org/some-lora")
    with pytest.raises(BadOption, match="revision"):
        lora.pin(LoraOptions(model=str(one), revision="main"), "diffusers:x", offline=True)
    monkeypatch.setattr(lora, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"t2i-diffusers\[lora\]"):
        check(str(one))


def test_a_lora_of_another_architecture_is_refused(adapters: Adapters, tmp_path: Path) -> None:
    save_file({"something": torch.zeros(2)}, tmp_path / "a.safetensors")
    with pytest.raises(BadModel, match="StableDiffusionPipeline"):
        load(adapters[0], str(tmp_path / "a.safetensors"))


def test_a_pipeline_without_loras_is_refused(
    checkpoint: Callable[[str], tuple[Path, dict[str, Any]]], adapters: Adapters
) -> None:
    folder, options = checkpoint("LDMTextToImagePipeline")
    with pytest.raises(BadOption, match="takes no LoRA"):
        load(folder, str(adapters[1]), **options)
