"""What pipelines are called with: options by the names of each class, and what the stages of a chain need."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from diffusers import DiffusionPipeline
from t2i_core.api.errors import BadModel, BadOption

from .options import RESERVED, CallOptions
from .sources import CheckpointSource

ARGUMENTS = {
    "steps": {"UnCLIPPipeline": "decoder_num_inference_steps"},
    "guidance": {"UnCLIPPipeline": "decoder_guidance_scale", "QwenImagePipeline": "true_cfg_scale"},
}
"""What an option is called by classes that do not call it as the others do."""

_OF_IMAGES = {"strength", "mask_image", "noise_level", "image_guidance_scale", "controlnet_conditioning_scale"}
"""Arguments of classes that draw from an image, though their call has a default for it."""

_USUAL = {"steps": "num_inference_steps", "guidance": "guidance_scale"}

Plan = dict[str, tuple[CheckpointSource, type[DiffusionPipeline], dict[str, Any]]]
"""By the name of the option: checkpoint, class, and the arguments of its call."""


def call_arguments(cls: type) -> dict[str, inspect.Parameter]:
    """Return the arguments of a pipeline's call by name; that it takes any further ones does not count."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(cls.__call__).parameters
    return {name: p for name, p in parameters.items() if name != "self" and p.kind in named}


def call_of(cls: type, options: CallOptions, source: CheckpointSource | None = None) -> dict[str, Any]:
    """Return the arguments that options set, by the names of a pipeline's call.

    Raises BadOption where the pipeline takes no such argument, with the names that it does take, and where it
    wants a number and is given something else.
    """
    takes = call_arguments(cls)
    asked = {
        option: (ARGUMENTS.get(option, {}).get(cls.__name__, _USUAL.get(option, option)), getattr(options, option))
        for option in ("steps", "guidance", "negative_prompt", "height", "width")
    }
    call: dict[str, Any] = {}
    for option, (name, value) in [*asked.items(), *((f"call.{n}", (n, v)) for n, v in options.call.items())]:
        if value is None and not option.startswith("call."):
            continue
        if name not in takes:
            free = [n for n in takes if n not in RESERVED]
            near = [n for n in free if name.split("_")[0] in n] or get_close_matches(name, free, n=3) or free
            where = f"{source.option}." if source and source.option else ""
            raise BadOption(f"option {where}{option}: {cls.__name__} takes no {name}; it takes {', '.join(near)}")
        if kind := _other_kind(takes[name], value):
            where = f"{source.option}." if source and source.option else ""
            raise BadOption(f"option {where}{option}: {cls.__name__} wants {kind}, not {value!r}")
        call[name] = value
    return call


def _other_kind(parameter: inspect.Parameter, value: Any) -> str | None:
    """Say what a parameter wants where a value is clearly another thing: of numbers and switches alone.

    Its annotation tells, or else its default. Whether a number must be a whole one is left to the pipeline.
    """
    said = parameter.annotation
    kinds = set(get_args(said) if get_origin(said) in (Union, UnionType) else [said]) - {type(None)}
    if not kinds <= {bool, int, float}:
        kinds = {type(parameter.default)}
    if value is None or not kinds <= {bool, int, float}:
        return None
    if kinds == {bool}:
        return None if isinstance(value, bool) else "true or false"
    number = isinstance(value, int | float) and (bool in kinds or not isinstance(value, bool))
    return None if number else "a number"


def check_chain(plan: Plan) -> None:
    """Raise BadModel where a pipeline wants more than a prompt and what the stage before it gives."""
    for option, (source, cls, _) in plan.items():
        arguments = call_arguments(cls)
        wanted = {n for n, p in arguments.items() if p.default is inspect.Parameter.empty}
        wanted -= {"prompt", "token_indices"}
        if "image" in arguments and not _OF_IMAGES.isdisjoint(arguments):
            wanted.add("image")
        given = {"image"} if option.startswith("upscaler") else set()
        if not option and "prior" in plan:
            given = {n for n in wanted if "embed" in n}
        if wanted - given:
            hint = "; give its prior's repository by the option prior.model" if "image_embeds" in wanted else ""
            raise BadModel(
                f"{source}: {cls.__name__} draws from {', '.join(sorted(wanted))}, not from a text{hint}"
            )
        if not option and "prior" not in plan and "prompt" not in arguments:
            raise BadModel(f"{source}: {cls.__name__} takes no prompt: it is no text-to-image pipeline")
        if option.startswith("upscaler") and "image" not in arguments:
            raise BadModel(f"{source}: {cls.__name__} takes no image: it enlarges nothing")
