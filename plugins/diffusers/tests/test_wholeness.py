"""Folders that are not whole are refused before anything runs, in one line that names the part and the file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators

UNET = "unet/diffusion_pytorch_model.safetensors"


@pytest.fixture
def folder(checkpoint: Any, tmp_path: Path) -> Path:
    """A copy of a checkpoint to damage."""
    return Path(shutil.copytree(checkpoint("StableDiffusionPipeline")[0], tmp_path / "model"))


def check(folder: Path, **options: Any) -> None:
    info = next(i for i in t2i_generators() if i.name == "diffusers")
    info.loading.check(Setup(str(folder), DiffusersOptions(**options), "cpu"))


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def overwrite_header(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[8:12] = b"\xff\xfe\x00!"
    file.write_bytes(data)


def only_vocabulary_gone(folder: Path) -> None:
    for file in folder.iterdir():
        if file.name != "tokenizer_config.json":
            file.unlink()


BROKEN: list[tuple[str, Callable[[Path], object], str]] = [
    ("tokenizer", empty, r"its tokenizer has no files: \S+/tokenizer has no vocabulary$"),
    ("tokenizer", only_vocabulary_gone, r"its tokenizer has no files"),
    (
        "tokenizer/tokenizer.json",
        lambda file: file.write_text(file.read_text()[:500]),
        r"its tokenizer is damaged: \S+tokenizer/tokenizer.json is not valid JSON \(",
    ),
    (
        "tokenizer/tokenizer.json",
        lambda file: file.write_text("{}"),
        r"its tokenizer is damaged: \S+tokenizer/tokenizer.json describes no tokenizer$",
    ),
    ("scheduler", empty, r"its scheduler \(\w+\) has no files"),
    ("unet", shutil.rmtree, r"its unet \(UNet2DConditionModel\) is missing: .* folder \S+/unet does not exist$"),
    ("unet/config.json", Path.unlink, r"its unet has no config.json in \S+/unet$"),
    (
        "unet/config.json",
        lambda file: file.write_text("{"),
        r"its unet has a broken config: \S+config.json does not describe a model$",
    ),
    ("text_encoder/config.json", lambda file: file.write_text("[]"), r"its text_encoder has a broken config"),
    (UNET, Path.unlink, r"its unet has no weights .* in \S+/unet$"),
    (UNET, cut, rf"its unet is damaged: \S+{UNET} has \d+ bytes and should have \d+$"),
    (UNET, lambda file: file.write_bytes(b""), r"is cut off, or not safetensors \(0 bytes\)"),
    (UNET, lambda file: file.write_bytes(b"nonsense"), r"is cut off, or not safetensors \(8 bytes\)"),
    (UNET, overwrite_header, r"is not safetensors: its header cannot be read"),
    (
        UNET,
        lambda file: file.rename(file.with_name("diffusion_pytorch_model.fp16.safetensors")),
        r"its unet has no weights .*; there is diffusion_pytorch_model.fp16.safetensors \(option variant\)",
    ),
    ("text_encoder/model.safetensors", cut, r"its text_encoder is damaged: \S+model.safetensors has"),
]


@pytest.mark.parametrize(("place", "damage", "message"), BROKEN)
def test_incomplete_files_are_reported_before_anything_is_loaded(
    folder: Path, place: str, damage: Callable[[Path], object], message: str
) -> None:
    from t2i_diffusers.loaded_pipeline import load

    check(folder)
    damage(folder / place)
    for tried in (
        lambda: check(folder),
        lambda: load(Setup(str(folder), DiffusersOptions(), "cpu")),
    ):
        with pytest.raises(BadModel, match=message) as error:
            tried()
        assert "\n" not in str(error.value)
        assert str(error.value).count(f"{folder}: ") == 1


def test_files_that_are_not_loaded_may_be_incomplete(folder: Path) -> None:
    whole = (folder / UNET).read_bytes()
    (folder / UNET).write_bytes(whole[:-1])
    (folder / UNET).with_name("diffusion_pytorch_model.fp16.safetensors").write_bytes(whole)
    check(folder, variant="fp16")
    with pytest.raises(BadModel, match="is damaged"):
        check(folder)
    (folder / UNET).write_bytes(whole)
    index = json.loads((folder / "model_index.json").read_text())
    index["safety_checker"] = ["stable_diffusion", "StableDiffusionSafetyChecker"]
    (folder / "model_index.json").write_text(json.dumps(index))
    shutil.rmtree(folder / "safety_checker", ignore_errors=True)
    check(folder, safety=False)
    with pytest.raises(BadModel, match=r"its safety_checker .* is missing"):
        check(folder)


def test_a_variant_that_no_part_has_is_told_by_the_plan(folder: Path) -> None:
    with pytest.raises(BadModel, match=r"has no weights of the variant 'fp16' \(option variant\)$"):
        check(folder, variant="fp16")


def test_weights_that_are_split_are_checked_file_by_file(folder: Path) -> None:
    from diffusers import UNet2DConditionModel

    unet = UNet2DConditionModel.from_pretrained(folder / "unet")
    (folder / UNET).unlink()
    unet.save_pretrained(folder / "unet", max_shard_size="100KB")
    first, *_, last = sorted((folder / "unet").glob("*-of-*.safetensors"))
    check(folder)
    cut(first)
    with pytest.raises(BadModel, match=f"is damaged: {first}"):
        check(folder)
    first.unlink()
    with pytest.raises(BadModel, match=f"lacks {first}, one of the files that its weights are split into"):
        check(folder)
    assert last.is_file()
    (index,) = (folder / "unet").glob("*.index.json")
    index.write_text("{}")
    with pytest.raises(BadModel, match="its unet has a broken index of weights"):
        check(folder)
