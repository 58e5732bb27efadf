"""Check of image sizes; a pipeline with an unsupported size draws another size or fails on every image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2i_core.api.errors import BadOption

from .calls import call_arguments

SAID = "divisible by"
"""Text in the errors of pipelines that reject a size."""


def check_size(name: str, option: str, pipe: Any, call: Mapping[str, Any]) -> None:
    """Raise BadOption if a call's height or width is not a multiple that the pipeline supports.

    `name` is the model's name, and `option` the prefix of the pipeline's options (`upscaler.`), both for messages.
    """
    step = _step(pipe, call)
    for side in ("height", "width"):
        asked = call.get(side)
        if isinstance(asked, int) and asked % step:
            below = asked // step * step
            near = f"{below} or {below + step}" if below else f"{step}"
            raise BadOption(
                f"option {option}{side} must be a multiple of {step} pixels for {type(pipe).__name__} ({name}; "
                f"got {asked}); set {near}"
            )


def check_drawn(name: str, pipe: Any, call: Mapping[str, Any], height: int, width: int) -> None:
    """Raise BadOption if an image does not have the requested size."""
    asked = call.get("height") or height, call.get("width") or width
    if asked != (height, width):
        raise BadOption(
            f"{name}: {type(pipe).__name__} draws {width}x{height} pixels instead of {asked[1]}x{asked[0]}; set "
            "the options width and height to sizes that it supports"
        )


def _step(pipe: Any, call: Mapping[str, Any]) -> int:
    """Return the factor that a pipeline's sizes must be multiples of, according to its image processor.

    The factor is 1 for pipelines that choose the nearest size of a list.
    """
    bins = call_arguments(type(pipe)).get("use_resolution_binning")
    if bins is not None and call.get("use_resolution_binning", bins.default):
        return 1
    processor = getattr(pipe, "image_processor", None)
    return int(getattr(getattr(processor, "config", None), "vae_scale_factor", 1))
