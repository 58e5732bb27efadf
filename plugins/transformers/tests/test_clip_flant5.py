"""Judge `clip-flant5`, on a small checkpoint in the published layout, made of transformers' own classes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as PILImage
from t2i_core.api import QuestionAnswer, Setup, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract

FLANT5 = "clip-flant5"
QUESTION = VisualQuestion('Does this figure show "a red cat"?', YES_NO)


@pytest.fixture(scope="session")
def tiny_flant5(answer_checkpoints: Any, checkpoints: Path) -> Path:
    """A CLIP-FlanT5 with random weights in one pickle, as the smaller published one."""
    return answer_checkpoints.save_flant5(checkpoints / "flant5")


class TestClipFlanT5(JudgeContract):
    module = "t2i_transformers.plugin"
    name = FLANT5

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_flant5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_flant5))
        monkeypatch.setattr(type(self), "options", {"processor": str(tiny_flant5), "max_tokens": 6})


def made(tiny: Any, folder: Path, batch: int | None = None, **options: Any) -> Any:
    return tiny.made(FLANT5, folder, batch, processor=str(folder), max_tokens=6, **options)


class Reference:
    """The network step by step, from the checkpoint's tensors: one image, one question, no batch."""

    def __init__(self, folder: Path) -> None:
        from transformers import (
            CLIPImageProcessor,
            CLIPVisionConfig,
            CLIPVisionModel,
            T5Config,
            T5ForConditionalGeneration,
            T5Tokenizer,
        )

        state = torch.load(folder / "pytorch_model.bin", weights_only=True)
        prefix = "vision_tower.vision_tower.vision_model."
        self.tower = CLIPVisionModel(
            CLIPVisionConfig(
                hidden_size=64, intermediate_size=32, num_hidden_layers=3, num_attention_heads=1, image_size=16,
                patch_size=4,
            )
        ).eval()  # fmt: skip
        own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
        own.pop("embeddings.position_ids")
        self.tower.load_state_dict(own)
        config = json.loads((folder / "config.json").read_text())
        self.t5 = T5ForConditionalGeneration(
            T5Config(
                **{k: v for k, v in config.items() if k[:3] != "mm_" and k not in ("model_type", "architectures")}
            )
        ).eval()
        self.t5.load_state_dict({key: state[key] for key in self.t5.state_dict()})
        self.projector = [(state[f"mm_projector.{n}.weight"], state[f"mm_projector.{n}.bias"]) for n in (0, 2)]
        self.words = T5Tokenizer.from_pretrained(folder)
        self.images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})

    def logits(self, image: PILImage.Image, question: str, answer: str) -> tuple[torch.Tensor, list[int]]:
        """Logits (tokens of the answer, vocabulary) and the answer's tokens with its end."""
        width, height = image.size
        side = max(width, height)
        square = PILImage.new("RGB", (side, side), (122, 116, 104))  # int(255 mean)
        square.paste(image, ((side - width) // 2, (side - height) // 2))
        pixels = self.images(square, return_tensors="pt")["pixel_values"]
        system = (
            "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, "
            "detailed, and polite answers to the user's questions."
        )
        parts = f"{system} USER: <image>\n{question} ASSISTANT: ".split("<image>")
        before, after = (torch.tensor(self.words(part).input_ids) for part in parts)
        labels = self.words(answer).input_ids
        (first, first_bias), (second, second_bias) = self.projector
        with torch.inference_mode():
            patches = self.tower(pixels, output_hidden_states=True).hidden_states[-2][0, 1:]
            hidden = torch.nn.functional.gelu(patches @ first.T + first_bias)
            seen = hidden @ second.T + second_bias
            embed = self.t5.shared
            rows = torch.cat([embed(before), seen, embed(after)])[None]
            found = self.t5(inputs_embeds=rows, labels=torch.tensor([labels])).logits[0]
        return found, labels


def test_the_probability_of_yes_is_vqascore(tiny: Any, tiny_flant5: Path, images: list[Image]) -> None:
    reference = Reference(tiny_flant5)
    found = tiny.ask(made(tiny, tiny_flant5), "answer", [QUESTION.about(image) for image in images])
    asked = 'Does this figure show "a red cat"? Please answer yes or no.'
    for image, answer in zip(images, found, strict=True):
        scores = []
        for word in ("Yes", "No"):
            logits, labels = reference.logits(image.pil(), asked, word)
            assert len(labels) == 2  # the word and the end
            scores.append(float((-torch.nn.functional.cross_entropy(logits, torch.tensor(labels))).exp()))
        assert answer.probs[0] == pytest.approx(scores[0], rel=1e-4)
        assert answer.probs.sum() == pytest.approx(1)
        assert answer.choice == ("yes" if scores[0] > scores[1] else "no")
    assert len({answer.probs[0] for answer in found}) == len(images)


def test_other_choices_have_the_probability_of_the_whole_answer(
    tiny: Any, tiny_flant5: Path, images: list[Image]
) -> None:
    question = VisualQuestion("Which colour?", ("red", "light blue", "blue"))
    (found,) = tiny.ask(made(tiny, tiny_flant5), "answer", [question.about(images[0])])
    reference = Reference(tiny_flant5)
    expected = []
    for choice in question.choices:
        total = 0.0
        for text in (choice, choice[0].upper() + choice[1:]):
            asked = "Which colour?\nAnswer with one of these choices: red, light blue, blue."
            logits, labels = reference.logits(images[0].pil(), asked, text)
            total += float(logits.log_softmax(-1)[range(len(labels)), labels].sum().exp())
        expected.append(total)
    np.testing.assert_allclose(found.probs, expected, rtol=1e-4)


def test_batches_and_images_seen_once(tiny: Any, tiny_flant5: Path, images: list[Image]) -> None:
    questions = [QUESTION, VisualQuestion("Is there a dog on the grass?", YES_NO), VisualQuestion("What is it?")]
    queries = [question.about(image) for image in images for question in questions]
    judge = made(tiny, tiny_flant5, 2)
    seen = 0

    def count(_: Any, args: Any) -> None:
        nonlocal seen
        seen += len(args[0])

    judge.loaded.network.tower.register_forward_pre_hook(count)
    together = tiny.ask(judge, "answer", queries)
    assert seen == len(images)
    alone = made(tiny, tiny_flant5, 1)
    for query, answer in zip(queries, together, strict=True):
        (expected,) = tiny.ask(alone, "answer", [query])
        if query.texts[1:]:
            np.testing.assert_allclose(answer.probs, expected.probs, rtol=1e-4)
        else:
            assert answer == expected


def test_parts_and_safetensors_are_the_same_model(
    tiny: Any, answer_checkpoints: Any, tiny_flant5: Path, images: list[Image], tmp_path: Path
) -> None:
    """The larger published one has several pickles and an index."""
    query = QUESTION.about(images[0])
    (expected,) = tiny.ask(made(tiny, tiny_flant5), "answer", [query])
    for number, options in enumerate(({"parts": 3}, {"safe": True}, {"parts": 2, "safe": True})):
        folder = answer_checkpoints.save_flant5(tmp_path / str(number), **options)
        (found,) = tiny.ask(made(tiny, folder), "answer", [query])
        np.testing.assert_array_equal(found.probs, expected.probs)


def test_bad_files_are_refused_before_images_are_made(
    tiny: Any, answer_checkpoints: Any, tiny_flant5: Path, tmp_path: Path
) -> None:
    info = tiny.OFFERED[FLANT5]

    def check(folder: Path, **options: Any) -> None:
        info.loading.check(Setup(str(folder), info.options(processor=str(tiny_flant5), **options)))

    check(tiny_flant5)
    with pytest.raises(BadModel, match="its SHA-256 is"):
        check(tiny_flant5, sha256="0" * 64)
    folder = tmp_path / "broken"
    shutil.copytree(tiny_flant5, folder)
    state = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save({k: v for k, v in state.items() if k != "mm_projector.2.bias"}, folder / "pytorch_model.bin")
    with pytest.raises(BadModel, match=r"lacks 1 weights, such as projector\.2\.bias"):
        check(folder)
    torch.save({k: v for k, v in state.items() if "vision_tower" not in k}, folder / "pytorch_model.bin")
    with pytest.raises(BadModel, match="hold no image encoder"):
        check(folder)
    torch.save({"code": Path}, folder / "pytorch_model.bin")
    with pytest.raises(BadModel, match="which does not belong in weights"):
        check(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(BadModel, match=r"lacks model\.safetensors"):
        check(folder)
    folder = answer_checkpoints.save_flant5(tmp_path / "parts", parts=2)
    (folder / "pytorch_model-00002-of-00002.bin").unlink()
    with pytest.raises(BadModel, match="lacks pytorch_model-00002-of-00002"):
        check(folder)
    with pytest.raises(BadModel, match="sha256 needs a single weights file"):
        check(folder, sha256="0" * 64)
    (folder / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "../a.bin"}}')
    with pytest.raises(BadModel, match="not a file beside it"):
        check(folder)


def test_two_images_and_too_long_questions_fail_alone(tiny: Any, tiny_flant5: Path, images: list[Image]) -> None:
    long = VisualQuestion("cat " * 1000, YES_NO)
    pair = VisualQuestion("Which?", ("red", "blue"))
    queries = [QUESTION.about(images[0]), long.about(images[0]), pair.about(*images[:2])]
    (good, too_long, two) = tiny.ask(made(tiny, tiny_flant5), "answer", queries)
    assert isinstance(good, QuestionAnswer)
    assert "this model reads 2048" in too_long.reason
    assert two.reason == "this model takes questions about one image only"


def test_presets_have_their_own_tokenizers(tiny: Any) -> None:
    for size in ("xl", "xxl"):
        preset = tiny.OFFERED[f"clip-flant5-{size}"]
        assert preset.argument == f"zhiqiulin/clip-flant5-{size}"
        assert dict(preset.options) == {"processor": f"google/flan-t5-{size}"}
