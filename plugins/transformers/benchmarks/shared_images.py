"""Seconds of questions about images if each image is looked at once, and if it is looked at for each question.

    python plugins/transformers/benchmarks/shared_images.py [--images 4] [--questions 10] [--side 448] [--rounds 3]

A Qwen2.5-VL with random weights, of a quarter of the width and depth of Qwen2.5-VL 3B, answers yes/no questions,
which follow each other by image. Both ways take turns within one process, and must give the same probabilities.
Prints the passes of the vision tower, and the median seconds of each way. Run it on a machine without other work.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as PILImage
from t2i_core.api import Query, Setup, VisualQuestion
from t2i_core.api.capabilities.answer import YES_NO
from t2i_core.api.image import load_image
from t2i_transformers.checkpoints import CheckpointPlace
from t2i_transformers.options import VisionLanguageOptions
from t2i_transformers.vision_language import VisionLanguageJudge

CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}{% if c['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
WORDS = ("Yes", "No", " there", " a", " the", " image", " Please", " answer", " or")


def save_model(folder: Path, side: int) -> Path:
    """Save a model with random weights, which sees images of this side, and return its folder."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2Tokenizer,
    )
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    words = Qwen2Tokenizer(vocab={c: n for n, c in enumerate(sorted(ByteLevel.alphabet()))}, merges=[])
    words.add_special_tokens({"extra_special_tokens": list(MARKS)})
    words.add_tokens(list(WORDS))
    mark = words.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(words), "hidden_size": 512, "intermediate_size": 2752, "num_hidden_layers": 9,
            "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 4096,
            "rope_parameters": {"rope_type": "default", "mrope_section": [8, 12, 12], "rope_theta": 1e6},
            "eos_token_id": mark("<|im_end|>"), "bos_token_id": None, "pad_token_id": mark("<|endoftext|>"),
        },
        vision_config={
            "depth": 8, "hidden_size": 320, "intermediate_size": 864, "num_heads": 8, "out_hidden_size": 512,
            "patch_size": 14, "spatial_merge_size": 2, "window_size": 112, "fullatt_block_indexes": [3, 7],
        },
        image_token_id=mark("<|image_pad|>"), video_token_id=mark("<|video_pad|>"),
        vision_start_token_id=mark("<|vision_start|>"), vision_end_token_id=mark("<|vision_end|>"),
    )  # fmt: skip
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(min_pixels=side * side, max_pixels=side * side),
        words,
        Qwen2VLVideoProcessor(),
        chat_template=CHAT,
    ).save_pretrained(folder)
    return folder


def write_questions(folder: Path, images: int, questions: int, side: int) -> list[Query]:
    """Return the questions, by image."""
    rng = np.random.default_rng(0)
    queries = []
    for number in range(images):
        file = folder / f"{number}.png"
        PILImage.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8)).save(file)
        image = load_image(file)
        queries += [VisualQuestion(f"Is there a {n}?", YES_NO).about(image) for n in range(questions)]
    return queries


def ask(judge: Any, queries: Sequence[Query], once: bool) -> tuple[float, list[float]]:
    """Return the seconds and the probabilities of yes; images are looked at once, or for each question."""
    store = judge._answerer._store
    find = store.find

    def forget(query: Query) -> Any:
        store.images.clear()
        return find(query)

    store.find = find if once else forget
    started = time.perf_counter()
    found = [answer.probs[0] for _, answer in judge.observe("answer", iter(queries))]
    seconds = time.perf_counter() - started
    store.find = find
    store.images.clear()
    return seconds, found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=4, help="number of images")
    parser.add_argument("--questions", type=int, default=10, help="questions about each image")
    parser.add_argument("--side", type=int, default=448, help="side of an image in pixels, a multiple of 28")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which each measures both ways")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = save_model(folder / "model", given.side)
        setup = Setup(str(model), VisionLanguageOptions(), "cpu", offline=True)
        judge = VisionLanguageJudge(setup, CheckpointPlace(f"transformers-vlm:{model}", str(model)))
        queries = write_questions(folder, given.images, given.questions, given.side)
        passes = 0

        def count(*_: Any) -> None:
            nonlocal passes
            passes += 1

        judge.loaded.network.base_model.visual.register_forward_hook(count)
        seconds: dict[bool, list[float]] = {True: [], False: []}
        looks, probs = {}, {}
        for _ in range(given.rounds):
            for once in (True, False):
                passes = 0
                spent, probs[once] = ask(judge, queries, once)
                seconds[once].append(spent)
                looks[once] = passes
        np.testing.assert_allclose(probs[True], probs[False], rtol=1e-4)
    for once, words in ((True, "once for each image"), (False, "once for each question")):
        median = statistics.median(seconds[once])
        print(f"{words}: {looks[once]} passes of the vision tower, {median:.2f} s for {len(queries)} questions")


if __name__ == "__main__":
    main()
