"""Answers of `transformers-vlm`: the library's own probabilities, one look at each image, batches."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from t2i_core.api import Failure, Query, QuestionAnswer, TextReply, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_transformers import image_features, text_replies
from t2i_transformers.options import VisualQuestionOptions
from t2i_transformers.question_prompts import write_words

VLM = "transformers-vlm"
PLAIN = {"yes_no_template": "answer en {question}", "choices_template": "answer en {question}",
         "text_template": "answer en {question}", "yes": "yes", "no": "no"}  # fmt: skip
COLOURS = ("red", "light blue", "light", "red and blue")
QUESTIONS = (
    VisualQuestion("Is there a cat?", YES_NO),
    VisualQuestion("Which colour has the car?", COLOURS),
    VisualQuestion("Is the dog on the grass, and is it red?", YES_NO),
    VisualQuestion("What is it?"),
)


ARCHITECTURES = pytest.mark.parametrize(
    "name",
    [
        "qwen3",
        "internvl",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("gemma3", "qwen25", "paligemma")),
    ],
)


@pytest.fixture(scope="session")
def saved(tiny: Any, answer_checkpoints: Any, checkpoints: Path) -> dict[str, Path]:
    """The checkpoints, by architecture."""
    return {name: save(checkpoints / f"answers-{name}", tiny) for name, save in answer_checkpoints.SAVED.items()}


@pytest.fixture(scope="session")
def quick(saved: dict[str, Path], checkpoints: Path) -> Path:
    """A model whose replies end soon: every second token ends them."""
    folder = checkpoints / "answers-quick"
    shutil.copytree(saved["qwen3"], folder)
    file = folder / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "eos_token_id": list(range(0, 270, 2))}))
    return folder


@pytest.mark.long
class TestVisionLanguage(JudgeContract):
    module = "t2i_transformers.plugin"
    name = VLM
    options: ClassVar[Mapping[str, Any]] = {"max_tokens": 6}

    @pytest.fixture(autouse=True)
    def _folder(self, quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(quick))


def made(tiny: Any, saved: dict[str, Path], name: str, batch: int | None = None, **options: Any) -> Any:
    plain = PLAIN if name == "paligemma" else {}
    return tiny.made(VLM, saved[name], batch, max_tokens=4, **plain, **options)


def asked(images: list[Image]) -> list[Query]:
    return [question.about(image) for image in images for question in QUESTIONS]


def library_inputs(tiny: Any, judge: Any, folder: Path, image: Image, words: str) -> tuple[Any, Any]:
    """The library's own network and input for a question."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    network = AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    if processor.chat_template:
        content = [{"type": "image", "image": image.pil()}, {"type": "text", "text": words}]
        message = [{"role": "user", "content": content}]
        return network, processor.apply_chat_template(
            message, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
    inputs = processor(images=image.pil(), text=f"<image>{words}", return_tensors="pt")
    inputs.pop("labels", None)
    return network, inputs


@ARCHITECTURES
def test_the_probability_of_yes_is_the_librarys_first_token(
    name: str, tiny: Any, saved: dict[str, Path], images: list[Image]
) -> None:
    judge = made(tiny, saved, name, 3)
    found = tiny.ask(judge, "answer", [QUESTIONS[0].about(image) for image in images])
    words = {"paligemma": "answer en Is there a cat?"}.get(name, "Is there a cat? Please answer Yes or No.")
    yes, no = ("yes", "no") if name == "paligemma" else ("Yes", "No")
    for image, answer in zip(images, found, strict=True):
        network, inputs = library_inputs(tiny, judge, saved[name], image, words)
        with torch.inference_mode():
            probs = network(**inputs).logits[0, -1].double().softmax(-1)
        ids = judge.loaded.processor.tokenizer.convert_tokens_to_ids([yes, no])
        np.testing.assert_allclose(answer.probs, probs[ids], rtol=1e-4, atol=1e-7)
        assert answer.chosen == int(probs[ids].argmax())
        assert answer.probs.sum() < 1
    assert len({answer.probs[0] for answer in found}) == len(images)


@ARCHITECTURES
def test_choices_of_several_tokens_and_free_text_are_the_librarys(
    name: str, tiny: Any, saved: dict[str, Path], images: list[Image]
) -> None:
    judge = made(tiny, saved, name)
    image = images[0]
    (chosen, free) = tiny.ask(judge, "answer", [QUESTIONS[1].about(image), QUESTIONS[3].about(image)])
    plain = name == "paligemma"
    words = "answer en Which colour has the car?" if plain else (
        "Which colour has the car?\nAnswer with one of these choices: red, light blue, light, red and blue."
    )  # fmt: skip
    network, inputs = library_inputs(tiny, judge, saved[name], image, words)
    encode = judge.loaded.processor.tokenizer

    def likelihood(text: str) -> float:
        """The probability of a text, one token after the other, by the library alone."""
        own, total = dict(inputs), 1.0
        for token in encode(text, add_special_tokens=False).input_ids:
            with torch.inference_mode():
                total *= float(network(**own).logits[0, -1].double().softmax(-1)[token])
            for key, value in inputs.items():
                if value.shape == inputs["input_ids"].shape:
                    filler = {"input_ids": token, "attention_mask": 1}.get(key, 1 if plain else 0)
                    own[key] = torch.cat([own[key], torch.tensor([[filler]])], dim=1)
        return total

    every = {text: likelihood(text) for choice in COLOURS for text in (choice, choice[0].upper() + choice[1:])}
    expected = [
        every["red"] + every["Red"] - every["red and blue"] - every["Red and blue"],
        every["light blue"] + every["Light blue"],
        every["light"] + every["Light"] - every["light blue"] - every["Light blue"],
        every["red and blue"] + every["Red and blue"],
    ]
    np.testing.assert_allclose(chosen.probs, expected, rtol=2e-4, atol=1e-9)
    words = "answer en What is it?" if plain else "What is it?\nAnswer in a few words."
    network, inputs = library_inputs(tiny, judge, saved[name], image, words)
    with torch.inference_mode():
        tokens = network.generate(**inputs, max_new_tokens=4, do_sample=False)
    text = encode.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True).strip()
    assert isinstance(free, QuestionAnswer | Failure)
    assert (free.text if isinstance(free, QuestionAnswer) else "") == text


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Counts the passes of a judge's vision tower and of its image processor."""
    counts = {"tower": 0, "processor": 0}

    def watch(judge: Any) -> dict[str, int]:
        base = judge.loaded.network.base_model
        tower = base.visual if hasattr(base, "visual") else base.vision_tower
        tower.register_forward_hook(lambda *_: counts.update(tower=counts["tower"] + 1))
        own = type(judge._answerer._image_processor._own)
        preprocess = own.preprocess

        def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
            counts["processor"] += 1
            return preprocess(self, *args, **kwargs)

        monkeypatch.setattr(own, "preprocess", counted)
        return counts

    return watch


@ARCHITECTURES
def test_the_vision_tower_sees_each_image_once(
    name: str, tiny: Any, saved: dict[str, Path], images: list[Image], looks: Any
) -> None:
    """Twenty questions about five images, in batches of three, which cut the questions about an image in two."""
    judge = made(tiny, saved, name, 3)
    counts = looks(judge)
    together = tiny.ask(judge, "answer", asked(images))
    assert counts["tower"] == counts["processor"] == len({image.digest for image in images}) == 5
    assert judge.settings["image_features_reused"]
    alone = [tiny.ask(made(tiny, saved, name, 1), "answer", [query])[0] for query in asked(images)[:4]]
    for a, b in zip(together, alone, strict=False):
        assert type(a) is type(b)
        if isinstance(a, QuestionAnswer) and a.choices:
            np.testing.assert_allclose(a.probs, b.probs, rtol=1e-4, atol=1e-8)


@ARCHITECTURES
def test_a_model_that_cannot_reuse_features_looks_for_each_question(
    name: str, tiny: Any, saved: dict[str, Path], images: list[Image], looks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As classes of older versions of transformers: the answers are the same, and `settings` says so."""
    queries = [question.about(image) for image in images[:2] for question in QUESTIONS[:3]]
    expected = tiny.ask(made(tiny, saved, name, 3), "answer", queries)
    monkeypatch.setattr(image_features, "can_reuse_features", lambda _: False)
    judge = made(tiny, saved, name, 3)
    counts = looks(judge)
    found = tiny.ask(judge, "answer", queries)
    assert not judge.settings["image_features_reused"]
    assert counts["tower"] > 2 == counts["processor"]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.probs, b.probs, rtol=1e-4, atol=1e-8)


def test_two_images_and_groups_are_shown_in_order(tiny: Any, saved: dict[str, Path], images: list[Image]) -> None:
    judge = made(tiny, saved, "qwen25")
    pair = VisualQuestion("Which is better?", ("the first", "the second"))
    grids = VisualQuestion("Which group is better?", ("the first", "the second"), grids=(1, 2))
    decode = judge.loaded.processor.tokenizer.decode
    row = judge._answerer._write(pair.about(*images[:2]), pair)
    before, between, after = decode(row.inputs["input_ids"][0]).split("<|vision_start|>")
    assert before.endswith("First image:\n")
    assert between.endswith("<|vision_end|>Second image:\n")
    assert "Which is better?\nAnswer with one of these choices: the first, the second." in after
    row = judge._answerer._write(grids.about(*images[:3]), grids)
    parts = decode(row.inputs["input_ids"][0]).split("<|vision_start|>")
    assert [part.rpartition("\n")[0].rpartition("\n")[2].rpartition(">")[2] for part in parts[:2]] == [
        "First group of images:", "Second group of images:"
    ]  # fmt: skip
    shown, turned = (
        judge._answerer._write(pair.about(*some), pair).inputs for some in (images[:2], images[1::-1])
    )
    patches = shown["image_grid_thw"].prod(dim=1).tolist()
    first, second = shown["pixel_values"].split(patches)
    assert not torch.equal(first, second[: len(first)])
    assert torch.equal(torch.cat([second, first]), turned["pixel_values"])


def test_a_model_without_chat_answers_about_one_image_only(
    tiny: Any, saved: dict[str, Path], images: list[Image]
) -> None:
    judge = made(tiny, saved, "paligemma")
    pair = VisualQuestion("Which is better?", ("the first", "the second"))
    (one, two) = tiny.ask(judge, "answer", [QUESTIONS[0].about(images[0]), pair.about(*images[:2])])
    assert isinstance(one, QuestionAnswer)
    assert (two.reason, two.final) == ("this model takes questions about one image only", True)
    (prefer,) = tiny.ask(judge, "prefer", [Query(tuple(images[:2]), ("a cat",))])
    assert prefer.final
    with pytest.raises(BadModel, match="has no chat template"):
        tiny.made(VLM, tiny.save_blip(Path(images[0].path).parent / "blip"))


def test_choices_that_the_model_cannot_tell_apart_fail_alone(
    tiny: Any, saved: dict[str, Path], images: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = made(tiny, saved, "qwen25")
    encode = judge._answerer._encode
    monkeypatch.setattr(judge._answerer, "_encode", lambda text: () if text == "nothing" else encode(text))
    odd = VisualQuestion("Which?", ("red", "nothing"))
    (good, bad) = tiny.ask(judge, "answer", [QUESTIONS[1].about(images[0]), odd.about(images[0])])
    assert isinstance(good, QuestionAnswer)
    assert bad == Failure("the model has no token for the choice 'nothing'", final=True)


def test_memory_that_runs_out_halves_the_batch(
    tiny: Any, saved: dict[str, Path], images: list[Image], looks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tiny.ask(made(tiny, saved, "qwen3", 8), "answer", asked(images)[:8])
    judge = made(tiny, saved, "qwen3", 8)
    counts = looks(judge)
    network, rows = judge.loaded.network, []
    forward = type(network).forward

    def small(self: Any, *args: Any, **kwargs: Any) -> Any:
        rows.append(len(kwargs["input_ids"]))
        if rows[-1] > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more")
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(type(network), "forward", functools.wraps(forward)(small))
    found = tiny.ask(judge, "answer", asked(images)[:8])
    assert judge.settings["questions_batch_size"] <= 2
    assert counts["tower"] == 3  # the smaller batch keeps its own image alone
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, QuestionAnswer) and b.choices:
            np.testing.assert_allclose(a.probs, b.probs, rtol=1e-4, atol=1e-8)


def test_templates_must_contain_the_question(tiny: Any) -> None:
    options = tiny.OFFERED[VLM].options
    with pytest.raises(ValueError, match="question"):
        options(yes_no_template="Yes or no?")
    assert options().yes_no_template == "{question} Please answer Yes or No."


@pytest.mark.parametrize(
    ("text", "asked_as"),
    [
        ("Is it red?", "answer en Is it red? Yes or no?"),
        ("Is it red? Please answer yes or no.", "answer en Is it red? Please answer yes or no."),
        ("Is it red? Please answer Yes or No.", "answer en Is it red? Please answer Yes or No."),
        (
            "Does a sign say: answer yes or no to me?",
            "answer en Does a sign say: answer yes or no to me? Yes or no?",
        ),
        ("Is {choices} there?", "answer en Is {choices} there? Yes or no?"),
    ],
)
def test_a_question_is_not_asked_twice_to_be_answered_yes_or_no(text: str, asked_as: str) -> None:
    options = VisualQuestionOptions(yes_no_template="answer en {question} Yes or no?")
    assert write_words(VisualQuestion(text, YES_NO), options) == asked_as


def test_replies_are_the_librarys_and_end(tiny: Any, saved: dict[str, Path], tmp_path: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = tiny.save_qwen(tmp_path / "telling", tiny.SAYS)
    texts = ("Write three questions.", "Hello", "World")
    queries = [Query(texts=(text,)) for text in texts]
    network = AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor = AutoProcessor.from_pretrained(folder)
    for query, found in zip(queries, tiny.ask(tiny.made(VLM, folder, 3), "reply", queries), strict=True):
        message = [{"role": "user", "content": [{"type": "text", "text": query.texts[0]}]}]
        inputs = processor.apply_chat_template(
            message, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        tokens = network.generate(**inputs, max_new_tokens=20, do_sample=False)
        text = processor.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True).strip()
        assert found == TextReply(text)
        assert text == "Image A follows it.\n\n[[A]]"
    (cut,) = tiny.ask(tiny.made(VLM, folder, max_tokens=3), "reply", queries[:1])
    assert cut == Failure("the reply was cut off; raise max_tokens", final=True)
    (none,) = tiny.ask(made(tiny, saved, "paligemma"), "reply", queries[:1])
    assert none.final


def test_thoughts_are_not_part_of_a_reply() -> None:
    assert text_replies._read("so <think>a\nb</think>\n yes ", True) == TextReply("yes")
    assert text_replies._read("a</think>yes", True) == TextReply("yes")
