"""The further architectures that the judges run: YOLOS, GIT, Qwen3-VL (that of two presets)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from t2i_core.api import Query
from t2i_core.api.image import Image


def _random(network: Any, folder: Path, std: float) -> None:
    """Save a network with weights so large that images change its answers."""
    for parameter in network.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=std)
    network.save_pretrained(folder)


def test_yolos(tiny: Any, tmp_path: Path, images: list[Image]) -> None:
    from transformers import YolosConfig, YolosForObjectDetection, YolosImageProcessor

    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = YolosConfig(**small, image_size=[48, 80], patch_size=8, num_detection_tokens=6, id2label=tiny.COCO_91)
    _random(YolosForObjectDetection(config), tmp_path / "yolos", 0.4)
    processor = YolosImageProcessor(size={"shortest_edge": 48, "longest_edge": 80})
    processor.save_pretrained(tmp_path / "yolos")
    network = YolosForObjectDetection.from_pretrained(tmp_path / "yolos").eval()
    queries = [Query((image,)) for image in images]
    found = tiny.ask(tiny.made("transformers-detector", tmp_path / "yolos", 5, floor=0.02), "detect", queries)
    assert sum(map(len, found)) > 5
    for image, ours in zip(images, found, strict=True):
        size = image.pil().size
        with torch.inference_mode():
            out = network(processor(images=image.pil(), return_tensors="pt").pixel_values)
        (theirs,) = processor.post_process_object_detection(out, threshold=0.02, target_sizes=[size[::-1]])
        kept = [n for n, label in enumerate(theirs["labels"]) if tiny.COCO_91[int(label)] != "N/A"]
        for n in kept:
            at = np.abs(ours.scores - float(theirs["scores"][n])).argmin()
            assert ours.label(at).name == tiny.COCO_91[int(theirs["labels"][n])]
            inside = theirs["boxes"][n].numpy().clip(0, np.array([*size, *size]))
            np.testing.assert_allclose(ours.boxes[at], inside, atol=1e-2)


def test_git(tiny: Any, tmp_path: Path, images: list[Image]) -> None:
    from transformers import BertTokenizer, CLIPImageProcessor, GitConfig, GitForCausalLM, GitProcessor

    vocab = {w: n for n, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *tiny.WORDS])}
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = GitConfig(
        vision_config={**small, "image_size": 32, "patch_size": 8}, **small, vocab_size=len(vocab),
        bos_token_id=2, eos_token_id=3, max_position_embeddings=64,
    )  # fmt: skip
    _random(GitForCausalLM(config), tmp_path / "git", 0.5)
    prepare = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = GitProcessor(prepare, BertTokenizer(vocab=vocab))
    processor.save_pretrained(tmp_path / "git")
    network = GitForCausalLM.from_pretrained(tmp_path / "git").eval()
    expected = []
    for image in images:
        pixels = processor(images=image.pil(), return_tensors="pt").pixel_values
        tokens = network.generate(pixel_values=pixels, max_new_tokens=6, do_sample=False)
        expected.append(processor.decode(tokens[0], skip_special_tokens=True))
    judge = tiny.made("transformers-captioner", tmp_path / "git", 5, max_tokens=6)
    found = [caption.text for caption in tiny.ask(judge, "caption", [Query((image,)) for image in images])]
    assert found == expected
    assert len(set(found)) > 2


def test_qwen3_vl(tiny: Any, tmp_path: Path, images: list[Image]) -> None:
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    tokenizer = tiny.chat_tokenizer()
    mark = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 1e4, "mrope_interleaved": True}
    torch.manual_seed(0)
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096,
            "rope_parameters": rope, "eos_token_id": mark("<|im_end|>"), "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32,
            "patch_size": 4, "spatial_merge_size": 2, "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
    )  # fmt: skip
    folder = tmp_path / "qwen3"
    _random(Qwen3VLForConditionalGeneration(config), folder, 0.3)
    prepare = Qwen2VLImageProcessor(patch_size=4, merge_size=2, min_pixels=64, max_pixels=1024)
    video = Qwen3VLVideoProcessor(patch_size=4, merge_size=2)
    processor = Qwen3VLProcessor(prepare, tokenizer, video, chat_template=tiny.CHAT)
    processor.save_pretrained(folder)
    network = Qwen3VLForConditionalGeneration.from_pretrained(folder).eval()
    queries = [Query((a, b), ("a cat",)) for a in images[:2] for b in images[2:]]
    together = tiny.ask(tiny.made("transformers-vlm", folder, 6, max_tokens=5), "prefer", queries)
    judge = tiny.made("transformers-vlm", folder, 1, max_tokens=5)
    assert together == tiny.ask(judge, "prefer", queries)
    assert len({answer.reasoning for answer in together}) > 1
    features = judge._question(queries[0])
    tokens = network.generate(**features, max_new_tokens=5, do_sample=False)[0, features["input_ids"].shape[1] :]
    assert together[0].reasoning == processor.decode(tokens, skip_special_tokens=True).strip()
