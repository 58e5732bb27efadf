"""The judge `hpsv3`: Human Preference Score v3 with its published weights, on transformers' Qwen2-VL."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL.Image import Image as PILImage
from PIL.Image import Resampling
from t2i_core.api import Failure, Query, Reward, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_core.api.text import describe_error
from t2i_core.files.digest import digest_file
from t2i_torch_support.device import select_device
from transformers import AutoProcessor

from . import checkpoints, hpsv3_files, pickled_weights
from .checkpoints import CheckpointPlace
from .hpsv3_network import Hpsv3Network, build_network
from .judge import Features, TransformersJudge, run_in_groups
from .loaded_checkpoint import LoadedCheckpoint, hide_reports
from .options import Hpsv3Options, precision

_ON_GPU, _ELSEWHERE = 8, 2
_PIXELS = 256 * 28 * 28
"""Number of pixels to which images are resized, as far as sides that are multiples of a cell allow."""

_MOST_ELONGATED = 200
"""Largest ratio of an image's sides that Qwen2-VL reads."""

TOKEN = "<|Reward|>"
"""The token at which the head reads the score; HPSv3 added it to Qwen2-VL's."""


class TooElongated(ValueError):
    """An image is longer than Qwen2-VL reads."""


class Hpsv3Rewarder(TransformersJudge):
    """Scores an image for a text with HPSv3: the mean of the predicted distribution, on its own scale.

    Only inputs of equal shape share a batch, without padding, so that results do not depend on the batch up to
    rounding. Texts are not truncated.
    """

    def __init__(self, setup: Setup[Hpsv3Options], place: CheckpointPlace, base: CheckpointPlace) -> None:
        super().__init__(_load(setup, place, base), setup, _ON_GPU, _ELSEWHERE)
        self._token: int = self.loaded.processor.tokenizer.convert_tokens_to_ids(TOKEN)
        vision = self.loaded.network.model.config.vision_config
        self._cell: int = vision.patch_size * vision.spatial_merge_size

    def answers(self, capability: Capability, queries: list[Query]) -> list[Reward | Failure]:
        """Score a batch."""
        answers: dict[int, Reward | Failure] = {}
        prepared: dict[int, dict[str, torch.Tensor]] = {}
        for number, query in enumerate(queries):
            if len(query.images) != 1 or len(query.texts) != 1:
                shape = f"{len(query.images)} images and {len(query.texts)} texts"
                answers[number] = Failure(f"{capability} cannot be answered for {shape}", final=True)
            elif TOKEN in query.texts[0]:
                answers[number] = Failure(f"the text contains {TOKEN}, the mark of HPSv3", final=True)
            else:
                try:
                    prepared[number] = self._write(query)
                except TooElongated as error:
                    answers[number] = Failure(str(error), final=True)
        values = run_in_groups(list(prepared.values()), self._score)
        answers |= {number: Reward(value) for number, value in zip(prepared, values, strict=True)}
        return [answers[number] for number in range(len(queries))]

    def _write(self, query: Query) -> dict[str, torch.Tensor]:
        """Return the network's input."""
        text = write_prompt(query.texts[0])
        image = resize(query.images[0].pil(), self._cell)
        processor = self.loaded.processor
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}
        words = processor.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
        return dict(processor(text=[words], images=[image], return_tensors="pt"))

    def _score(self, features: Features) -> list[float]:
        with torch.inference_mode():
            found: list[float] = self.loaded.network.score(self._token, **self.loaded.inputs(features))[
                :, 0
            ].tolist()
        return found


def write_prompt(text: str) -> str:
    """Return the message of the user, which asks for the rating of an image that was made for a text."""
    constants = _read_constants()
    return constants["instruction"].replace("{text_prompt}", text) + constants["ending"]


@cache
def _read_constants() -> dict[str, str]:
    file = Path(__file__).with_name("data") / "hpsv3_prompt.json"
    constants: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return constants


def resize(image: PILImage, cell: int, pixels: int = _PIXELS) -> PILImage:
    """Return an image of about this number of pixels whose sides are multiples of a cell.

    Args:
        image: The image.
        cell: Side of the square that becomes one token, in pixels.
        pixels: The number of pixels. A larger image gets at most, a smaller one at least that many.

    Raises:
        TooElongated: The image is longer than Qwen2-VL reads.
    """
    image = image.convert("RGB")
    width, height = image.size
    if max(width, height) > _MOST_ELONGATED * min(width, height):
        raise TooElongated(
            f"an image of {width} x {height} pixels is too elongated for HPSv3 (at most {_MOST_ELONGATED}:1)"
        )
    sides = [max(cell, round(side / cell) * cell) for side in (width, height)]
    scale = math.sqrt(pixels / (width * height))
    if math.prod(sides) > pixels:
        sides = [max(cell, math.floor(side * scale / cell) * cell) for side in (width, height)]
    elif math.prod(sides) < pixels:
        sides = [math.ceil(side * scale / cell) * cell for side in (width, height)]
    return image.resize((sides[0], sides[1]), Resampling.BICUBIC)


def _load(setup: Setup[Hpsv3Options], place: CheckpointPlace, base: CheckpointPlace) -> LoadedCheckpoint:
    options = setup.options
    file = hpsv3_files.fetch(place, options.sha256, setup.offline)
    folder = checkpoints.fetch(base, setup.offline, weights=False)
    device = select_device(setup.device)
    dtype: torch.dtype = getattr(torch, precision(device.type) if options.dtype == "auto" else options.dtype)
    config = checkpoints.config(base, setup.offline)
    network = build_network(config, pickled_weights.read_weights([file], place.spec), dtype, place.spec)
    processor = _load_processor(folder, network, place.spec)
    return LoadedCheckpoint(
        network.eval().requires_grad_(False).to(device),
        processor,
        device,
        dtype,
        {
            "checkpoint": place.name,
            "commit": hpsv3_files.find_commit(place, setup.offline),
            "sha256": digest_file(file),
            "architecture": type(network).__name__,
            "processor_of": base.name,
            "pixels": _PIXELS,
            "dtype": str(dtype).removeprefix("torch."),
            "device": str(device),
            "transformers": transformers.__version__,
        },
    )


def _load_processor(folder: Path, network: Hpsv3Network, spec: str) -> Any:
    """Return Qwen2-VL's processor with HPSv3's token."""
    try:
        with hide_reports():
            processor = AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # of many types: missing files, or content that no class knows
        raise BadModel(
            f"{spec}: its processor cannot be loaded from {folder} ({describe_error(error)})"
        ) from error
    processor.tokenizer.add_special_tokens(
        {"additional_special_tokens": [TOKEN]}, replace_extra_special_tokens=False
    )
    rows = network.model.language_model.embed_tokens.num_embeddings
    if (token := processor.tokenizer.convert_tokens_to_ids(TOKEN)) >= rows:
        raise BadModel(
            f"{spec}: the tokenizer in {folder} numbers {TOKEN} {token}, but the network knows {rows} tokens; set "
            "`processor` to the Qwen2-VL that HPSv3 was trained from"
        )
    return processor
