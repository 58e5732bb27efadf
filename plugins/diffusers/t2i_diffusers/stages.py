"""Running a chain of pipelines: a prior makes embeddings, the model draws them, upscalers enlarge the picture.

Every image has its own noise in each stage, by seed and stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api.errors import BadModel

from .loading import LoadedPipeline, PipelineStage
from .noise import for_call, generators, karlo_noise

_ENCODED = "IFPipeline"
"""The class whose prompts are encoded here, once for it and the stages that share its text encoder."""

_TWOFOLD = frozenset({"KandinskyPriorPipeline", "KandinskyV22PriorPipeline"})
"""Classes that put negative prompts into the batch beside the prompts, and draw as many embeddings again."""


@dataclass(frozen=True)
class DrawnBatch:
    """What a chain made of a batch.

    pixels:   float32 (n, height, width, 3), 0 to 1; not a number where the arithmetic failed
    flagged:  for each image, whether a safety filter blanked it
    """

    pixels: NDArray[np.float32]
    flagged: list[bool]


def draw(
    loaded: LoadedPipeline, prompts: Sequence[str], seeds: Sequence[int], further: Mapping[str, Any] | None = None
) -> DrawnBatch:
    """Draw each prompt under its seed, all together.

    further: arguments of the main stage beyond prompt, noise and settings
    """
    given: dict[str, Any] = {}
    output: Any = None
    for place, stage in enumerate(loaded.stages):
        last = place == len(loaded.stages) - 1
        arguments = {
            **_text(stage, prompts, given, loaded.device),
            **_noise(stage, seeds),
            **_handed_over(stage, output),
            **{name: _per_image(name, value, len(prompts)) for name, value in _call(stage).items()},
            **((further or {}) if stage.name == "main" else {}),
            "output_type": "np" if last else "pt",
        }
        output = stage.pipe(**arguments)
        given = arguments
    return _drawn(loaded.stages[-1], output, len(prompts))


def _text(
    stage: PipelineStage, prompts: Sequence[str], given: Mapping[str, Any], device: torch.device
) -> dict[str, Any]:
    """The prompts, as texts or, where stages share one text encoder, encoded once for all of them."""
    takes = stage.arguments
    if getattr(stage.pipe, "text_encoder", True) is None and "prompt_embeds" in given:
        return {name: given[name] for name in ("prompt_embeds", "negative_prompt_embeds") if name in takes}
    if "prompt" not in takes:
        return {}
    if type(stage.pipe).__name__ != _ENCODED:
        return {"prompt": list(prompts)}
    negative = stage.call.get("negative_prompt")
    embeds, negative_embeds = stage.pipe.encode_prompt(
        list(prompts),
        device=device if stage.pipe.device.type != "meta" else stage.pipe._execution_device,
        negative_prompt=None if negative is None else [negative] * len(prompts),
        clean_caption=stage.call.get("clean_caption", takes["clean_caption"].default),
    )
    return {"prompt_embeds": embeds, "negative_prompt_embeds": negative_embeds}


def _call(stage: PipelineStage) -> Mapping[str, Any]:
    """The settings of the call, without what was encoded with the prompts."""
    encoded = type(stage.pipe).__name__ == _ENCODED
    return {name: value for name, value in stage.call.items() if not (encoded and name == "negative_prompt")}


def _noise(stage: PipelineStage, seeds: Sequence[int]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if "generator" in stage.arguments:
        each = generators(seeds, stage.name)
        if type(stage.pipe).__name__ in _TWOFOLD and stage.call.get("negative_prompt") is not None:
            each += generators(seeds, f"{stage.name} negative")
        own["generator"] = for_call(each)
    if "super_res_latents" in stage.arguments:
        own |= karlo_noise(stage.pipe, seeds)
    return own


def _handed_over(stage: PipelineStage, output: Any) -> dict[str, Any]:
    """What the stage before gives: embeddings by the names that this one takes, or its images."""
    if output is None:
        return {}
    if stage.name == "main":
        return {name: value for name, value in output.items() if name in stage.arguments and value is not None}
    return {"image": output.images}


def _per_image(name: str, value: Any, images: int) -> Any:
    """A negative prompt goes with each prompt; other settings hold for the whole batch."""
    return [value] * images if name == "negative_prompt" else value


def _drawn(stage: PipelineStage, output: Any, images: int) -> DrawnBatch:
    pixels = getattr(output, "images", None)
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 4 or len(pixels) != images or pixels.shape[3] != 3:
        raise BadModel(
            f"{stage.model}: {type(stage.pipe).__name__} gives no images of three channels, one a prompt"
        )
    flags = np.zeros(images, dtype=bool)
    for name in ("nsfw_content_detected", "nsfw_detected", "watermark_detected"):
        said = output.get(name)
        if said is not None:
            flags |= np.asarray(said, dtype=bool).reshape(images)
    return DrawnBatch(pixels.astype(np.float32, copy=False), flags.tolist())
