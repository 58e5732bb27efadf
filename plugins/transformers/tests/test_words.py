"""Judges `transformers-captioner` and `transformers-vlm`, on small checkpoints that transformers itself saves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from t2i_core.api import Query
from t2i_core.api.errors import BadModel
from t2i_core.api.image import Image
from t2i_core.testing import JudgeContract
from t2i_core.testing.parts import settle
from t2i_torch_support import pair_questions

CAPTIONER, VLM = "transformers-captioner", "transformers-vlm"


class TestCaptioner(JudgeContract):
    module = "t2i_transformers.plugin"
    name = CAPTIONER
    options: ClassVar[Mapping[str, Any]] = {"max_tokens": 6}

    @pytest.fixture(autouse=True)
    def _folder(self, tiny_blip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "argument", str(tiny_blip))


def captions(tiny: Any, judge: Any, images: list[Image]) -> list[str]:
    return [caption.text for caption in tiny.ask(judge, "caption", [Query((image,)) for image in images])]


def preferences(tiny: Any, judge: Any, images: list[Image], **params: Any) -> list[Any]:
    pairs = [Query((a, b), ("a red cat",), params) for a, b in pairwise(images)]
    found: list[Any] = tiny.ask(judge, "prefer", pairs)
    return found


def test_captions_are_the_librarys_own(tiny: Any, tiny_blip: Path, images: list[Image]) -> None:
    from transformers import BlipForConditionalGeneration, BlipProcessor

    network = BlipForConditionalGeneration.from_pretrained(tiny_blip).eval()
    processor = BlipProcessor.from_pretrained(tiny_blip)
    expected = {1: [], 3: []}
    for image in images:
        pixels = processor(images=image.pil(), return_tensors="pt")
        for beams, texts in expected.items():
            tokens = network.generate(**pixels, max_new_tokens=9, do_sample=False, num_beams=beams)
            texts.append(processor.decode(tokens[0], skip_special_tokens=True).strip())
    assert len(set(expected[1])) > 2
    assert captions(tiny, tiny.made(CAPTIONER, tiny_blip, max_tokens=9), images) == expected[1]
    assert captions(tiny, tiny.made(CAPTIONER, tiny_blip, max_tokens=9, beams=3), images) == expected[3]
    assert expected[1] != expected[3]


def test_a_checkpoint_that_draws_lots_is_searched(
    tiny: Any, tiny_qwen: Path, tmp_path: Path, images: list[Image]
) -> None:
    """As published ones do: its generation_config asks for a temperature, and a penalty, which holds."""
    folder = tmp_path / "lots"
    folder.mkdir()
    for file in tiny_qwen.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "generation_config.json").read_text())
    config |= {"do_sample": True, "temperature": 9.0, "top_p": 0.9, "top_k": 90, "repetition_penalty": 1.5}
    (folder / "generation_config.json").write_text(json.dumps(config))
    judge = tiny.made(VLM, folder, max_tokens=8)
    first, again = (preferences(tiny, judge, images) for _ in range(2))
    assert first == again
    assert first != preferences(tiny, tiny.made(VLM, tiny_qwen, max_tokens=8), images)  # the penalty
    search = judge.settings["search"]
    assert (search["do_sample"], search["num_beams"], search["repetition_penalty"]) == (False, 1, 1.5)
    assert "temperature" not in search
    assert json.loads(json.dumps(judge.settings)) == judge.settings


def test_a_verdict_is_read_and_its_reasoning_kept(tiny: Any, telling_qwen: Path, images: list[Image]) -> None:
    found = preferences(tiny, tiny.made(VLM, telling_qwen, 4), images)
    assert {(p.verdict, p.reasoning) for p in found} == {("first", "Image A follows it.\n\n[[A]]")}


@pytest.mark.parametrize(
    ("says", "most", "verdict", "reasoning"),
    [
        (("[[A]]", " follows", " it", ".", "<|im_end|>"), 5, "first", "[[A]] follows it."),
        (("[[A]]", " follows", " it", ".", "<|im_end|>"), 4, "unparsable", "[[A]] follows it."),
        (("[[A]]", " follows", " it", ".", "<|im_end|>"), 2, "unparsable", "[[A]] follows"),
    ],
)
def test_an_answer_that_is_cut_gives_no_verdict_whatever_it_has_named(
    says: tuple[str, ...], most: int, verdict: str, reasoning: str, tiny: Any, tmp_path: Path, images: list[Image]
) -> None:
    folder = tiny.save_qwen(tmp_path / "model", says)
    found = preferences(tiny, tiny.made(VLM, folder, max_tokens=most), images[:2])
    assert [(p.verdict, p.reasoning) for p in found] == [(verdict, reasoning)]


@pytest.mark.parametrize("several", [False, True])
def test_each_answer_of_a_batch_ends_for_itself(
    several: bool, tiny: Any, telling_qwen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = tiny.made(VLM, telling_qwen)
    mark = judge.loaded.processor.tokenizer.convert_tokens_to_ids
    if several:
        judge.loaded.network.generation_config.eos_token_id = [mark("<|im_start|>"), mark("<|im_end|>")]
    rows = (("[[A]]", "<|im_end|>", "<|endoftext|>"), ("[[A]]", " follows", " it"))
    tokens = torch.tensor([[5, 5, *(mark(word) for word in row)] for row in rows])
    monkeypatch.setattr(judge.loaded.network, "generate", lambda **_: tokens)
    found = judge._run({"input_ids": tokens[:, :2]})
    assert [(p.verdict, p.reasoning) for p in found] == [("first", "[[A]]"), ("unparsable", "[[A]] follows it")]


def test_answers_depend_on_how_is_asked(
    telling_qwen: Path, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprint(name: str) -> str:
        return settle(tiny.OFFERED[name], {}, str(telling_qwen)).fingerprint

    before = {name: fingerprint(name) for name in (VLM, CAPTIONER)}
    (tmp_path / "other.py").write_text("VERDICTS = 'other ones'\n")
    monkeypatch.setattr(pair_questions, "SOURCE", tmp_path / "other.py")
    assert fingerprint(VLM) != before[VLM]
    assert fingerprint(CAPTIONER) == before[CAPTIONER]


def test_the_model_is_shown_prompt_definitions_and_both_images_in_order(
    tiny: Any, tiny_qwen: Path, images: list[Image]
) -> None:
    judge = tiny.made(VLM, tiny_qwen, max_tokens=1)
    first, fourth = images[0], images[3]
    query = Query((first, fourth), ("a red cat",), {"definitions": {"cat": "a feline"}})
    features = judge._question(query)
    text = judge.loaded.processor.tokenizer.decode(features["input_ids"][0])
    before, of_a, of_b = text.split("<|vision_start|>")
    assert before.startswith("<|im_start|>user\nTwo text-to-image models")
    assert before.endswith("Prompt: a red cat\nDefinitions:\n- cat: a feline\n\nImage A:\n")
    assert of_a.endswith("<|vision_end|>\nImage B:\n")
    assert of_b.endswith("if both are bad.<|im_end|>\n<|im_start|>assistant\n")
    expected = judge.loaded.processor.image_processor([first.pil(), fourth.pil()], return_tensors="pt")
    torch.testing.assert_close(features["pixel_values"], expected["pixel_values"])
    assert of_a.count("<|image_pad|>") == int(expected["image_grid_thw"][0].prod()) // 4
    assert of_b.count("<|image_pad|>") == int(expected["image_grid_thw"][1].prod()) // 4
    silent = tiny.made(VLM, tiny_qwen, with_definitions=False)._question(query)
    assert silent["input_ids"].shape[1] < features["input_ids"].shape[1]


@pytest.mark.long
def test_company_changes_nothing(tiny: Any, tiny_qwen: Path, tiny_blip: Path, images: list[Image]) -> None:
    """Images of other sizes, and so questions of other lengths, in one batch."""
    for batch in (2, 4):
        together = preferences(tiny, tiny.made(VLM, tiny_qwen, batch, max_tokens=8), images)
        assert together == preferences(tiny, tiny.made(VLM, tiny_qwen, 1, max_tokens=8), images)
    assert len({p.reasoning for p in together}) > 1
    five = captions(tiny, tiny.made(CAPTIONER, tiny_blip, 5), images)
    assert five == captions(tiny, tiny.made(CAPTIONER, tiny_blip, 1), images)


def test_a_model_that_cannot_be_asked_is_refused(tiny: Any, tiny_blip: Path) -> None:
    with pytest.raises(BadModel, match="has no chat template"):
        tiny.made(VLM, tiny_blip)


def test_a_template_that_cannot_work_is_refused(tiny: Any) -> None:
    with pytest.raises(ValueError, match="once each"):
        tiny.OFFERED[VLM].options(template="{prompt} [[A]] [[B]] [[C]] [[D]]")
