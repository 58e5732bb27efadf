"""Arguments of pipeline calls: option names of each class, and the inputs of a chain's stages."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin

from diffusers import DiffusionPipeline
from t2i_core.api.errors import BadModel, BadOption

from .options import RESERVED, CallOptions
from .sources import CheckpointSource

ARGUMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "steps": {"UnCLIPPipeline": ("decoder_num_inference_steps",)},
    "guidance": {
        "UnCLIPPipeline": ("decoder_guidance_scale", "prior_guidance_scale"),
        "QwenImagePipeline": ("true_cfg_scale",),
    },
}
"""Argument names of classes that differ from the usual names, by option.

Several arguments get the same value. It replaces those of the option `call`, where presets set them.
"""

_OF_IMAGES = {"strength", "mask_image", "noise_level", "image_guidance_scale", "controlnet_conditioning_scale"}
"""Arguments that only classes with an image input have, even if the image has a default."""

_USUAL = {"steps": "num_inference_steps", "guidance": "guidance_scale"}

_SHARED = {name for names in ARGUMENTS["guidance"].values() if len(names) > 1 for name in names}
"""Arguments that share the option `guidance` with others."""

Plan = dict[str, tuple[CheckpointSource, type[DiffusionPipeline], dict[str, Any]]]
"""Checkpoint, class and call arguments of each stage, by option name."""


def call_arguments(cls: type) -> dict[str, inspect.Parameter]:
    """Return the named arguments of a pipeline's call, without `**kwargs`."""
    named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = inspect.signature(cls.__call__).parameters
    return {name: p for name, p in parameters.items() if name != "self" and p.kind in named}


def call_of(cls: type, options: CallOptions, source: CheckpointSource | None = None) -> dict[str, Any]:
    """Return the call arguments that options set, by the pipeline's names.

    Raises:
        BadOption: The pipeline has no such argument, or a value has the wrong type.
    """
    takes = call_arguments(cls)
    asked = [
        (option, name, getattr(options, option))
        for option in ("steps", "guidance", "negative_prompt", "height", "width")
        for name in _name_arguments(cls, option)
    ]
    several = {name for _, name, value in asked if value is not None and name in _SHARED}
    own = [(f"call.{name}", name, value) for name, value in options.call.items() if name not in several]
    call: dict[str, Any] = {}
    for option, name, value in [*asked, *own]:
        if value is None and not option.startswith("call."):
            continue
        if name not in takes:
            free = [n for n in takes if n not in RESERVED]
            near = [n for n in free if name.split("_")[0] in n] or get_close_matches(name, free, n=3) or free
            where = f"{source.option}." if source and source.option else ""
            raise BadOption(
                f"option {where}{option}: {cls.__name__} takes no {name}; choose one of {', '.join(near)}"
            )
        if kind := _other_kind(takes[name], value):
            where = f"{source.option}." if source and source.option else ""
            raise BadOption(f"option {where}{option} must be {kind} for {cls.__name__} (got {value!r})")
        call[name] = value
    return call


def _name_arguments(cls: type, option: str) -> tuple[str, ...]:
    """Return the arguments of a pipeline's call that an option sets."""
    return ARGUMENTS.get(option, {}).get(cls.__name__, (_USUAL.get(option, option),))


def _other_kind(parameter: inspect.Parameter, value: Any) -> str | None:
    """Return the required type if a value clearly does not fit a numeric or boolean parameter; otherwise None.

    The parameter's annotation decides, or else its default. The pipeline checks whether a number must be whole.
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
    """Raise BadModel if a pipeline needs more than a prompt and the output of the stage before it."""
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
            hint = "; set the option prior.model to its prior's repository" if "image_embeds" in wanted else ""
            raise BadModel(
                f"{source}: {cls.__name__} draws from {', '.join(sorted(wanted))}, not from a text{hint}"
            )
        if not option and "prior" not in plan and "prompt" not in arguments:
            raise BadModel(f"{source}: {cls.__name__} takes no prompt, so it is not a text-to-image pipeline")
        if option.startswith("upscaler") and "image" not in arguments:
            raise BadModel(f"{source}: {cls.__name__} takes no image, so it cannot be an upscaler")
