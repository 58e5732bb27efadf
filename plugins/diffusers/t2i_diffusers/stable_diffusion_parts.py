"""The parts of Stable Diffusion 1 and 2: a check of other pipelines. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2i_core.api import Setup
from t2i_core.api.errors import NoJudge

from .hub import index_folder
from .options import DiffusersOptions
from .presets import KNOWN
from .sources import list_parts, read_index, sources

_PARTS = {
    "vae": "AutoencoderKL",
    "text_encoder": "CLIPTextModel",
    "tokenizer": "CLIPTokenizer",
    "unet": "UNet2DConditionModel",
}
"""Parts of Stable Diffusion 1 and 2, with the start of their class names."""

_OF_OTHERS = ("text_encoder_2", "tokenizer_2")


def explain_other_parts(index: Mapping[str, Any]) -> str | None:
    """Return in which part a pipeline differs from Stable Diffusion 1 and 2, after its class; None if in none.

    Args:
        index: Index of the pipeline.
    """
    parts = {part: str(index[part][1]) for part in list_parts(index)}
    why = [f"has a {part} as well" for part in _OF_OTHERS if part in parts] + [
        f"has no {part} ({cls})" for part, cls in _PARTS.items() if not parts.get(part, "").startswith(cls)
    ]
    return f"{index['_class_name']} {why[0]}" if why else None


def make_other_parts_error(model: object, index: Mapping[str, Any]) -> NoJudge | None:
    """Return the error for a pipeline whose cross-attention t2i does not read; None if it reads it."""
    why = explain_other_parts(index)
    return NoJudge(f"{model}: {_SUPPORTED}, but this {why}") if why else None


_SUPPORTED = "the attention of words is supported for the parts of Stable Diffusion 1 and 2 only"


def check_text_attention(setup: Setup[DiffusersOptions]) -> None:
    """Check from a model's index that t2i reads its cross-attention.

    Raises:
        NoJudge: The pipeline does not have the parts of Stable Diffusion 1 and 2.
        BadModel: The index cannot be read or fetched.
    """
    main = sources(setup.argument, setup.options)[0]
    for known in KNOWN:
        if main.model == known.repository and known.pipeline not in _CLASSES:
            raise NoJudge(f"{main}: {_SUPPORTED}, but this is a {known.pipeline}")
    if error := make_other_parts_error(main, read_index(index_folder(main, setup.offline))):
        raise error


_CLASSES = frozenset({"StableDiffusionPipeline", "StableDiffusionAttendAndExcitePipeline"})
"""Pipeline classes of presets with these parts."""
