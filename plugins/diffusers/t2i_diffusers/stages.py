"""Execution of a chain of pipelines: the prior computes embeddings, the model draws, upscalers enlarge the image.

Every image has its own noise in each stage, derived from seed and stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from t2i_core.api.errors import BadModel

from .loaded_pipeline import LoadedPipeline, PipelineStage
from .noise import for_call, generators, karlo_noise

_ENCODED = "IFPipeline"
"""The class whose prompts this module encodes once, for the stages that share its text encoder."""

_TWOFOLD = frozenset({"KandinskyPriorPipeline", "KandinskyV22PriorPipeline"})
"""Classes that add negative prompts to the batch and draw embeddings for them too."""


@dataclass(frozen=True)
class DrawnBatch:
    """The result of a chain for one batch.

    Attributes:
        pixels: float32 (n, height, width, 3), 0 to 1; NaN where the computation failed.
        flagged: Whether a safety filter blanked each image.
    """

    pixels: NDArray[np.float32]
    flagged: list[bool]


def draw(
    loaded: LoadedPipeline, prompts: Sequence[str], seeds: Sequence[int], further: Mapping[str, Any] | None = None
) -> DrawnBatch:
    """Draw a batch of prompts, each with its seed.

    `further` holds arguments of the main stage beyond prompt, noise and settings.
    """
    given: dict[str, Any] = {}
    output: Any = None
    for place, stage in enumerate(loaded.stages):
        last = place == len(loaded.stages) - 1
        arguments = {
            **_text(stage, prompts, given, loaded.device),
            **_noise(stage, seeds),
            **_pass_on(stage, output),
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
    """Return the prompts as texts or, if stages share a text encoder, encoded once for all stages."""
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
    """Return the settings of the call, without arguments that are encoded with the prompts."""
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


def _pass_on(stage: PipelineStage, output: Any) -> dict[str, Any]:
    """Return the output of the previous stage: embeddings under this stage's names, or images."""
    if output is None:
        return {}
    if stage.name == "main":
        return {name: value for name, value in output.items() if name in stage.arguments and value is not None}
    return {"image": output.images}


def _per_image(name: str, value: Any, images: int) -> Any:
    """Return the settings with the negative prompt repeated for each prompt."""
    return [value] * images if name == "negative_prompt" else value


def _drawn(stage: PipelineStage, output: Any, images: int) -> DrawnBatch:
    pixels = getattr(output, "images", None)
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 4 or len(pixels) != images or pixels.shape[3] != 3:
        raise BadModel(
            f"{stage.model}: {type(stage.pipe).__name__} does not return one image with three channels per prompt"
        )
    flags = np.zeros(images, dtype=bool)
    for name in ("nsfw_content_detected", "nsfw_detected", "watermark_detected"):
        said = output.get(name)
        if said is not None:
            flags |= np.asarray(said, dtype=bool).reshape(images)
    return DrawnBatch(pixels.astype(np.float32, copy=False), flags.tolist())
