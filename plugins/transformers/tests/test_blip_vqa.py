"""Judge `blip-vqa`, on a small BLIP that transformers itself saves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from t2i_core.api import QuestionAnswer, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract

BLIP = "blip-vqa"
SMALL = {"size": 32, "max_tokens": 6}


@pytest.fixture(scope="session")
def tiny_blip_vqa(tiny: Any, answer_checkpoints: Any, checkpoints: Path) -> Path:
    """A BLIP for questions with random weights."""
    return answer_checkpoints.save_blip_vqa(checkpoints / "blip-vqa", tiny)


class TestBlipVqa(JudgeContract):
    module = "t2i_transformers.plugin"
    name = BLIP
    options: ClassVar[Mapping[str, Any]] = SMALL

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_blip_vqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_blip_vqa))


def library(folder: Path) -> tuple[Any, Any]:
    from transformers import BlipForQuestionAnswering, BlipProcessor

    return BlipForQuestionAnswering.from_pretrained(folder).eval(), BlipProcessor.from_pretrained(folder)


@pytest.mark.parametrize("first", ["[ENC]", "[CLS]"])
def test_yes_and_no_are_the_librarys_first_step(
    first: str, tiny: Any, tiny_blip_vqa: Path, images: list[Image]
) -> None:
    judge = tiny.made(BLIP, tiny_blip_vqa, first_token=first, **SMALL)
    texts = ("a red cat?", "the dog on the grass?")
    queries = [VisualQuestion(text, YES_NO).about(image) for image in images for text in texts]
    found = tiny.ask(judge, "answer", queries)
    network, processor = library(tiny_blip_vqa)
    size = network.config.text_config.vocab_size
    ids = processor.tokenizer.convert_tokens_to_ids(["yes", "no"])
    for query, answer in zip(queries, found, strict=True):
        inputs = processor(images=query.images[0].pil(), text=query.texts[0], return_tensors="pt")
        if first == "[ENC]":
            inputs["input_ids"][:, 0] = size - 1
        with torch.inference_mode():
            seen = network.vision_model(inputs["pixel_values"]).last_hidden_state
            states = network.text_encoder(inputs["input_ids"], encoder_hidden_states=seen).last_hidden_state
            logits = network.text_decoder(torch.tensor([[size - 2]]), encoder_hidden_states=states).logits[0, 0]
        probs = logits.double().softmax(-1)[ids]
        np.testing.assert_allclose(answer.probs, probs, rtol=1e-4)
        # T2I-CompBench's number
        assert answer.weights()[0] == pytest.approx(float(probs[0] / probs.sum()), rel=1e-4)
    assert len({answer.probs[0] for answer in found}) == len(found)


def test_free_text_is_the_librarys(tiny: Any, tiny_blip_vqa: Path, images: list[Image]) -> None:
    judge = tiny.made(BLIP, tiny_blip_vqa, first_token="[CLS]", **SMALL)
    found = tiny.ask(judge, "answer", [VisualQuestion("what is on the grass?").about(image) for image in images])
    network, processor = library(tiny_blip_vqa)
    for image, answer in zip(images, found, strict=True):
        inputs = processor(images=image.pil(), text="what is on the grass?", return_tensors="pt")
        tokens = network.generate(**inputs, max_new_tokens=6, do_sample=False)
        text = processor.decode(tokens[0], skip_special_tokens=True).strip()
        assert (answer.text if isinstance(answer, QuestionAnswer) else "") == text
    assert any(isinstance(answer, QuestionAnswer) for answer in found)


def test_each_image_is_encoded_once(tiny: Any, tiny_blip_vqa: Path, images: list[Image]) -> None:
    judge = tiny.made(BLIP, tiny_blip_vqa, 2, **SMALL)
    seen = 0

    def count(_: Any, args: Any, kwargs: Any) -> None:
        nonlocal seen
        seen += len(kwargs["pixel_values"])

    judge.loaded.network.vision_model.register_forward_pre_hook(count, with_kwargs=True)
    questions = [VisualQuestion(text, YES_NO) for text in ("a cat?", "a dog?", "a car?")]
    found = tiny.ask(judge, "answer", [question.about(image) for image in images for question in questions])
    assert seen == len(images)
    alone = tiny.made(BLIP, tiny_blip_vqa, 1, **SMALL)
    for (image, question), answer in zip(((i, q) for i in images for q in questions), found, strict=True):
        (expected,) = tiny.ask(alone, "answer", [question.about(image)])
        np.testing.assert_allclose(answer.probs, expected.probs, rtol=1e-4)


def test_images_of_another_size_than_the_checkpoints(tiny: Any, tiny_blip_vqa: Path, images: list[Image]) -> None:
    """As published: the checkpoint's positions are those of 384 pixels, and T2I-CompBench shows it 480."""
    judge = tiny.made(BLIP, tiny_blip_vqa, size=48)
    assert judge._preprocess(images[0].pil())["pixel_values"].shape == (1, 3, 48, 48)
    (large,) = tiny.ask(judge, "answer", [VisualQuestion("a cat?", YES_NO).about(images[0])])
    (small,) = tiny.ask(
        tiny.made(BLIP, tiny_blip_vqa, size=32), "answer", [VisualQuestion("a cat?", YES_NO).about(images[0])]
    )
    assert np.abs(large.probs - small.probs).max() > 1e-6
    assert tiny.OFFERED[BLIP].options().size == 480


def test_long_questions_and_odd_ones(
    tiny: Any, tiny_blip_vqa: Path, images: list[Image], caplog: pytest.LogCaptureFixture
) -> None:
    judge = tiny.made(BLIP, tiny_blip_vqa, **SMALL)
    long = VisualQuestion("cat " * 40, YES_NO).about(images[0])
    pair = VisualQuestion("which?", ("a", "two")).about(*images[:2])
    same = VisualQuestion("which?", ("red", "Red")).about(images[0])
    (answered, two, alike) = tiny.ask(judge, "answer", [long, pair, same])
    assert isinstance(answered, QuestionAnswer)
    assert "truncated to the model's 35" in caplog.text
    assert two.final
    assert "apart" in alike.reason
