"""The text side of cross-attention, held to the modules' weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from t2i_core.api import Failure, Query, Setup, TextAttention
from t2i_core.api.errors import BadModel, NoJudge
from t2i_diffusers.options import DiffusersOptions
from t2i_diffusers.plugin import t2i_generators
from t2i_diffusers.presets import KNOWN
from t2i_diffusers.stable_diffusion_parts import check_text_attention
from t2i_diffusers.text_attention import TextAttentions
from t2i_diffusers.word_tokens import find_word_tokens

QUERY = Query(texts=("a cat and a dog", "dog", "cat"))


def ask(model: Any, query: Query = QUERY) -> TextAttention | Failure:
    ((same, found),) = model.observe("attention", [query])
    assert same is query
    if isinstance(found, TextAttention):
        found.check(query)
    return found  # type: ignore[no-any-return]


def test_vectors_are_those_of_the_models_own_weights(model: Any) -> None:
    """The tokenizer of this checkpoint has a token for each letter; each layer has four heads."""
    generator = model()
    pipe = generator.loaded.main.pipe
    found = ask(generator)
    assert isinstance(found, TextAttention)
    ids = pipe.tokenizer(QUERY.texts[0], padding="max_length", max_length=77, return_tensors="pt")["input_ids"]
    places = [9, 10, 11, 2, 3, 4]  # after the start token: a, c, a, t, a, n, d, a, d, o, g
    assert found.words.tolist() == [0, 0, 0, 1, 1, 1]
    with torch.inference_mode():
        states = pipe.text_encoder(ids)[0][0, places]
        np.testing.assert_allclose(found.states, states, atol=1e-6)
        weights = pipe.unet.state_dict()
        rows = pipe.text_encoder.state_dict()
        table = next(array for name, array in rows.items() if name.endswith("token_embedding.weight"))
        np.testing.assert_array_equal(found.embeddings, table[ids[0, places]])
    layers = [name.removesuffix(".to_k.weight") for name in weights if name.endswith("attn2.to_k.weight")]
    assert list(found.keys) == layers
    assert len(layers) == 4, "two blocks with layers, one in the middle"
    for part, own in (("to_k", found.keys), ("to_v", found.values)):
        for layer in layers:
            projected = (states @ weights[f"{layer}.{part}.weight"].T).numpy()
            heads = np.split(projected, 4, axis=1)
            np.testing.assert_allclose(own[layer], np.stack(heads), atol=1e-6)


def test_states_are_those_that_the_denoiser_gets(model: Any) -> None:
    """Whatever the pipeline does to them, here an addition of 1."""
    generator = model()
    pipe = generator.loaded.main.pipe
    encode = pipe.encode_prompt
    pipe.encode_prompt = lambda *args, **more: tuple(t if t is None else t + 1 for t in encode(*args, **more))
    changed, plain = ask(generator), ask(model())
    assert isinstance(changed, TextAttention)
    assert isinstance(plain, TextAttention)
    np.testing.assert_allclose(changed.states, plain.states + 1, atol=1e-5)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("a cat", "dog"), "'dog' is not named in the prompt"),
        (("a cat", "cat", "cat"), "'cat' is not named in the prompt"),
        (("a photo of " * 10 + "a cat", "cat"), "'cat' lies beyond the text encoder's limit"),
    ],
)
def test_words_that_are_not_read_fail_for_good(texts: tuple[str, ...], said: str, model: Any) -> None:
    assert ask(model(), Query(texts=texts)) == Failure(said, final=True)


def test_words_whose_end_is_cut_off_are_not_read(model: Any) -> None:
    text = "a photo of " * 9 + "a cat"  # 76 tokens with the letters of cat, and the start token
    assert isinstance(ask(model(), Query(texts=(text, "photo"))), TextAttention)
    assert ask(model(), Query(texts=(text, "cat"))) == Failure(
        "'cat' lies beyond the text encoder's limit", final=True
    )


@pytest.mark.parametrize("words", [("hot dog", "dog"), ("dog", "hot dog")])
@pytest.mark.parametrize("text", ["a photo of a hot dog and a dog", "a photo of a dog and a hot dog"])
def test_a_word_does_not_take_the_end_of_a_longer_one(text: str, words: tuple[str, ...], model: Any) -> None:
    tokenizer = model().loaded.main.pipe.tokenizer
    found = dict(zip(words, find_word_tokens(text, words, tokenizer), strict=True))
    letters = "start" + text.replace(" ", "")  # a token for each letter, after the start token
    read = {word: "".join(letters[4 + place] for place in own) for word, own in found.items()}
    assert read == {"hot dog": "hotdog", "dog": "dog"}
    assert not set(found["dog"]) & set(found["hot dog"])


def test_a_word_whose_only_place_is_in_a_longer_one_is_not_named(model: Any) -> None:
    found = ask(model(), Query(texts=("a hot dog and a cat", "hot dog", "dog")))
    assert found == Failure("'dog' is not named in the prompt", final=True)


@pytest.mark.parametrize("part", ["embeddings", "states", "keys", "values"])
def test_vectors_that_are_not_numbers_fail(part: str, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = TextAttentions._read

    def spoil(self: TextAttentions, prompt: str, words: list[list[int]]) -> TextAttention:
        found = read(self, prompt, words)
        arrays = getattr(found, part)
        (arrays if isinstance(arrays, np.ndarray) else list(arrays.values())[-1]).flat[-1] = np.nan
        return found

    monkeypatch.setattr(TextAttentions, "_read", spoil)
    failed = ask(model())
    assert isinstance(failed, Failure)
    assert failed.reason.startswith("encodes to embeddings, states, keys or values that are ")


def test_models_describe_their_layers(model: Any) -> None:
    generator = model()
    ask(generator)
    assert list(generator.settings["attention"]["heads"].values()) == [4] * 4


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        ("StableDiffusionXLPipeline", "this StableDiffusionXLPipeline has a text_encoder_2 as well"),
        ("FluxPipeline", "this FluxPipeline has a text_encoder_2 as well"),
        ("PixArtSigmaPipeline", "this PixArtSigmaPipeline has no text_encoder"),
        ("IFPipeline", "this IFPipeline has no vae"),
    ],
)
def test_other_models_are_refused_before_they_are_loaded(pipeline: str, said: str, checkpoint: Any) -> None:
    folder, options = checkpoint(pipeline)
    info = next(i for i in t2i_generators() if i.name == "diffusers")
    with pytest.raises(NoJudge, match=f"parts of Stable Diffusion 1 and 2 only, but {said}") as caught:
        info.check_judge(Setup(str(folder), DiffusersOptions(**options), "cpu"), "attention", [])
    assert "\n" not in str(caught.value)


def test_a_loaded_model_of_another_kind_is_refused_too(model: Any) -> None:
    with pytest.raises(NoJudge, match="this StableDiffusionXLPipeline has a text_encoder_2 as well"):
        ask(model("StableDiffusionXLPipeline"))


def test_a_unet_without_cross_attention_is_refused(model: Any) -> None:
    generator = model()
    for module in generator.loaded.main.pipe.unet.modules():
        if hasattr(module, "is_cross_attention"):
            module.is_cross_attention = False
    with pytest.raises(BadModel, match="its UNet has no cross-attention"):
        ask(generator)


@pytest.mark.parametrize("name", ["unclip", "if", "sdxl"])
def test_known_models_are_refused_before_they_are_fetched(name: str) -> None:
    (known,) = (known for known in KNOWN if known.name == name)
    with pytest.raises(NoJudge, match=f"but this is a {known.pipeline}"):
        check_text_attention(Setup(known.repository, DiffusersOptions(**known.options), offline=True))


def test_a_folder_of_the_real_classes_is_accepted(checkpoint: Any) -> None:
    folder: Path = checkpoint("StableDiffusionPipeline")[0]
    check_text_attention(Setup(str(folder), DiffusersOptions(), "cpu"))
