"""Judge `hpsv3`, on a small checkpoint with the published file's keys."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from safetensors.torch import load_file, save_file
from t2i_core.api import Failure, Query, Reward, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image, load_image
from t2i_core.testing import JudgeContract
from t2i_transformers.hpsv3 import resize, write_prompt
from t2i_transformers.hpsv3_network import build_network

HPS = "hpsv3"


@pytest.fixture(scope="session")
def tiny_hpsv3(tiny: Any, answer_checkpoints: Any, checkpoints: Path) -> tuple[Path, Path]:
    """A HPSv3 with random weights, and the folder of its base."""
    folder = checkpoints / "hpsv3"
    folder.mkdir()
    return answer_checkpoints.save_hpsv3(folder, tiny)


@pytest.mark.long
class TestHpsv3(JudgeContract):
    module = "t2i_transformers.plugin"
    name = HPS

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_hpsv3: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_hpsv3[0]))
        monkeypatch.setattr(type(self), "options", {"processor": str(tiny_hpsv3[1])})


def test_the_constants_are_those_of_the_package() -> None:
    """Digest of INSTRUCTION.format(text_prompt="TEXT") + prompt_with_special_token of the package hpsv3 1.0.0."""
    found = hashlib.sha256(write_prompt("TEXT").encode()).hexdigest()
    assert found == "1c4d3863115775c649bf50e2b2f1627a8f7ea9c69b3d6d8c39f2047af9e63f7c"
    assert write_prompt("{a} {text_prompt}").count("{a} {text_prompt}") == 1
    assert "HPSv3 Team" in files("t2i_transformers").joinpath("data", "LICENSE-HPSv3.txt").read_text()


@pytest.mark.parametrize(
    ("size", "expected"),
    [((512, 512), (448, 448)), ((1024, 768), (504, 364)), ((100, 100), (448, 448)), ((60, 40), (560, 392)),
     ((448, 448), (448, 448)), ((2000, 30), (3668, 56))],
)  # fmt: skip
def test_images_are_resized_to_multiples_of_a_cell(size: tuple[int, int], expected: tuple[int, int]) -> None:
    """By Qwen's rule with 200,704 pixels at most and at least, worked out by hand."""
    assert resize(PILImage.new("RGB", size), 28).size == expected


def test_too_elongated_images_are_refused() -> None:
    with pytest.raises(ValueError, match="too elongated"):
        resize(PILImage.new("RGB", (2010, 10)), 28)


def test_scores_are_those_of_the_network_step_by_step(
    tiny: Any, tiny_hpsv3: tuple[Path, Path], images: list[Image]
) -> None:
    """Qwen2-VL with its own class, token and head by hand, one image at a time."""
    from transformers import AutoProcessor, Qwen2VLConfig, Qwen2VLForConditionalGeneration

    folder, base = tiny_hpsv3
    state = load_file(folder / "HPSv3.safetensors")
    config = Qwen2VLConfig.from_pretrained(base)
    config.text_config.vocab_size = len(state["model.embed_tokens.weight"])
    network = Qwen2VLForConditionalGeneration(config).eval()
    names = (("visual.", "model.visual."), ("model.", "model.language_model."))
    renamed = {}
    for key, value in state.items():
        for old, new in names:
            if key.startswith(old):
                renamed[new + key.removeprefix(old)] = value
    renamed["lm_head.weight"] = state["lm_head.weight"]
    network.load_state_dict(renamed)
    processor = AutoProcessor.from_pretrained(base)
    processor.tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<|Reward|>"]}, replace_extra_special_tokens=False
    )
    token = processor.tokenizer.convert_tokens_to_ids("<|Reward|>")
    assert token == config.text_config.vocab_size - 1
    judge = tiny.made(HPS, folder, 2, processor=str(base))
    texts = ("a red cat", "two dogs on the grass")
    queries = [Query((image,), (text,)) for image in images[:2] for text in texts]
    found = tiny.ask(judge, "reward", queries)
    for query, reward in zip(queries, found, strict=True):
        shown = resize(query.images[0].pil(), 28)
        content = [{"type": "image", "image": shown}, {"type": "text", "text": write_prompt(query.texts[0])}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            states = network.model(**inputs).last_hidden_state
            values = states[0, inputs["input_ids"][0] == token]
            for layer in (0, 3, 5):
                values = values @ state[f"rm_head.{layer}.weight"].T + state[f"rm_head.{layer}.bias"]
                values = values if layer == 5 else values.relu()
        assert reward == Reward(pytest.approx(float(values[0, 0]), rel=1e-4, abs=1e-5))
    assert np.ptp([reward.value for reward in found]) > 1e-4


def test_a_text_with_the_mark_fails_alone(tiny: Any, tiny_hpsv3: tuple[Path, Path], images: list[Image]) -> None:
    judge = tiny.made(HPS, tiny_hpsv3[0], processor=str(tiny_hpsv3[1]))
    good, bad = (Query((images[0],), (text,)) for text in ("a cat", "a <|Reward|>"))
    (value, failure) = tiny.ask(judge, "reward", [good, bad])
    assert isinstance(value, Reward)
    assert failure.final


def test_an_elongated_image_fails_alone(
    tiny: Any, tiny_hpsv3: tuple[Path, Path], images: list[Image], tmp_path: Path
) -> None:
    PILImage.new("RGB", (2010, 10)).save(tmp_path / "long.png")
    judge = tiny.made(HPS, tiny_hpsv3[0], processor=str(tiny_hpsv3[1]))
    queries = [Query((image,), ("a cat",)) for image in (images[0], load_image(tmp_path / "long.png"))]
    (value, failure) = tiny.ask(judge, "reward", queries)
    assert isinstance(value, Reward)
    assert failure == Failure(
        "an image of 2010 x 10 pixels is too elongated for HPSv3 (at most 200:1)", final=True
    )


def test_the_network_holds_the_tensors_of_the_file(tiny_hpsv3: tuple[Path, Path]) -> None:
    """No random weights are made first, which would take twice the memory of the file."""
    state = load_file(tiny_hpsv3[0] / "HPSv3.safetensors")
    config = json.loads((tiny_hpsv3[1] / "config.json").read_text(encoding="utf-8"))
    network = build_network(config, state, torch.float32, HPS)
    places = {value.data_ptr() for value in state.values()}
    assert all(value.data_ptr() in places for value in network.parameters())
    network = build_network(config, state, torch.bfloat16, HPS)
    assert {value.dtype for value in network.model.parameters()} == {torch.bfloat16}
    assert {value.dtype for value in (*network.head.parameters(), *network.model.buffers())} == {torch.float32}


def test_bad_files_are_refused(tiny: Any, tiny_hpsv3: tuple[Path, Path], tmp_path: Path) -> None:
    info = tiny.OFFERED[HPS]

    def check(folder: Path) -> None:
        info.loading.check(Setup(str(folder), info.options(processor=str(tiny_hpsv3[1]))))

    check(tiny_hpsv3[0])
    state = load_file(tiny_hpsv3[0] / "HPSv3.safetensors")
    save_file({k: v for k, v in state.items() if not k.startswith("visual")}, tmp_path / "HPSv3.safetensors")
    with pytest.raises(BadModel, match="is not a checkpoint of HPSv3"):
        check(tmp_path)
    with pytest.raises(BadModel, match=r"HPSv3\.safetensors does not exist"):
        check(tmp_path / "..")
