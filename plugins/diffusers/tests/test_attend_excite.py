"""Which tokens are objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from t2i_core.api import Failure, Generated, ImageRequest, ObjectClass, Prompt, Scene, SceneObject, Setup
from t2i_core.api.errors import BadModel, BadOption
from t2i_diffusers.attend_excite import NoObjects, choose_attention_size, token_indices
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """CLIP's tokenizer with a few whole words, as the real one has them."""
    import transformers

    whole = ["a", "photo", "of", "cat", "and", "dog", "fire", "hydrant", "car", "red"]
    letters = sorted({c for w in whole for c in w} | set("bdgilpsuz"))
    vocab = {t: i for i, t in enumerate([*letters, *(f"{c}</w>" for c in letters)])}
    merges: list[str] = []
    for word in whole:
        pieces = [*word[:-1], f"{word[-1]}</w>"]
        while len(pieces) > 1:
            merged = pieces[0] + pieces[1]
            if f"{pieces[0]} {pieces[1]}" not in merges:
                merges.append(f"{pieces[0]} {pieces[1]}")
            vocab.setdefault(merged, len(vocab))
            pieces[:2] = [merged]
    vocab |= {"<|startoftext|>": len(vocab), "<|endoftext|>": len(vocab) + 1}
    return transformers.CLIPTokenizer(vocab=vocab, merges=[tuple(m.split()) for m in merges], model_max_length=16)


def prompt(text: str, *names: str) -> Prompt:
    return Prompt(text, text, Scene(tuple(SceneObject(ObjectClass(name)) for name in names)))


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("a photo of a cat", ["cat"], [5]),
        ("a photo of a cat and a dog", ["cat", "dog"], [5, 8]),
        ("a photo of a cat and a dog", ["dog", "cat"], [5, 8]),
        ("a photo of a fire hydrant and a car", ["fire hydrant", "car"], [5, 6, 7, 8, 11]),
        ("a Cat and a cat", ["cat", "cat"], [2, 5]),
        ("a photo of a red car", ["car"], [6]),
    ],
)
def test_positions_of_the_objects(text: str, names: list[str], expected: list[int], words: Any) -> None:
    tokens = words.convert_ids_to_tokens(words(text)["input_ids"])
    indices = token_indices(prompt(text, *names), words)
    assert indices == expected, tokens
    said = "".join(tokens[i] for i in indices).replace("</w>", " ").split()
    assert sorted(said) == sorted(word.lower() for name in names for word in name.split())


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Prompt("p", "a photo of a cat"), "this prompt has none"),
        (prompt("a photo of a cat", "dog"), "'dog' is not named"),
        (prompt("a scar", "car"), "'car' is not named"),
        (prompt("a cat", "cat", "cat"), "'cat' is not named"),
        (prompt("a photo of " * 5 + "a cat", "cat"), "beyond the text encoder's limit"),
    ],
)
def test_prompts_without_known_objects(asked: Prompt, reason: str, words: Any) -> None:
    with pytest.raises(NoObjects, match=reason):
        token_indices(asked, words)


def test_prompts_that_cannot_be_attended_to_fail_for_good_and_the_rest_is_drawn(model: Any, draw: Any) -> None:
    name = "StableDiffusionAttendAndExcitePipeline"
    good, bad = prompt("a photo of a cat", "cat"), Prompt("p", "a photo of a cat")
    first, second = draw(model(name, 2), [ImageRequest(bad, 0, 0), ImageRequest(good, 0, 0)])
    assert isinstance(first, Failure)
    assert first.final
    assert isinstance(second, Generated)
    (third,) = draw(model(name, 2), [ImageRequest(good, 0, 0)])
    assert np.array_equal(second.image, third.image)
    (plain,) = draw(model(steps=2), [ImageRequest(good, 0, 0)])
    assert not np.array_equal(second.image, plain.image), "attention changes the image"


@pytest.mark.parametrize(
    ("pipeline", "gone", "said"),
    [
        ("StableDiffusionXLPipeline", None, "this StableDiffusionXLPipeline has a text_encoder_2 as well"),
        (
            "StableDiffusionPipeline",
            "tokenizer",
            r"this StableDiffusionPipeline has no tokenizer \(CLIPTokenizer\)",
        ),
        ("FluxPipeline", None, "this FluxPipeline has a text_encoder_2 as well"),
        ("LDMTextToImagePipeline", None, r"this LDMTextToImagePipeline has no vae"),
    ],
)
def test_models_of_another_kind_are_refused_by_the_plan(
    pipeline: str, gone: str | None, said: str, checkpoint: Any, tmp_path: Path
) -> None:
    info = next(i for i in t2i_generators() if i.name == "attend-excite")
    index = json.loads((checkpoint(pipeline)[0] / "model_index.json").read_text())
    if gone:
        index[gone] = [None, None]
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(BadModel, match=f"{tmp_path}: Attend-and-Excite supports only .*, but {said}"):
        info.loading.check(Setup(str(tmp_path), DiffusersOptions(), "cpu"))


DOWN, CROSS_DOWN, UP, CROSS_UP = "DownBlock2D", "CrossAttnDownBlock2D", "UpBlock2D", "CrossAttnUpBlock2D"
SD = {
    "down_block_types": [*[CROSS_DOWN] * 3, DOWN],
    "mid_block_type": "UNetMidBlock2DCrossAttn",
    "up_block_types": [UP, *[CROSS_UP] * 3],
}
MINI = {**SD, "down_block_types": [DOWN, CROSS_DOWN, CROSS_DOWN], "up_block_types": [CROSS_UP, CROSS_UP, UP]}
HIGH = {"down_block_types": [CROSS_DOWN, DOWN, DOWN, DOWN], "up_block_types": [UP, UP, UP, CROSS_UP]}


@pytest.mark.parametrize(
    ("unet", "latents", "expected"),
    [
        (SD, (64, 64), (16, 16)),
        (SD, (96, 96), (24, 24)),
        (SD, (96, 64), (24, 16)),
        (SD, (18, 18), (5, 5)),
        (MINI, (16, 16), (4, 4)),
        (HIGH, (64, 64), (64, 64)),
    ],
)
def test_the_size_of_the_maps_is_found_from_the_model(
    unet: dict[str, Any], latents: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert choose_attention_size("m", unet, latents, None) == expected
    assert choose_attention_size("m", unet, latents, list(expected)) == expected


def test_sizes_that_a_model_lacks_are_one_clear_line() -> None:
    with pytest.raises(BadOption) as caught:
        choose_attention_size("m", MINI, (16, 16), [16, 16])
    assert str(caught.value) == (
        "option call.attn_res: m has no cross-attention of size [16, 16] with these images; "
        "choose one of [8,8], [4,4], or leave the option out"
    )
    without = {"down_block_types": [DOWN] * 2, "up_block_types": [UP] * 2, "mid_block_type": None}
    with pytest.raises(BadModel, match="m: its UNet has no cross-attention"):
        choose_attention_size("m", without, (16, 16), None)


def test_a_wrong_size_is_refused_when_the_model_is_loaded(model: Any) -> None:
    with pytest.raises(BadOption, match=r"choose one of \[16,16\], \[8,8\], or leave"):
        model("StableDiffusionAttendAndExcitePipeline", call={"attn_res": [7, 7]})
    found = model("StableDiffusionAttendAndExcitePipeline")
    assert found.settings["call"]["attn_res"] == [8, 8]
