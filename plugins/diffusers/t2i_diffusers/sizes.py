"""Sizes that a pipeline cannot draw, refused: or else it draws another one, or fails image by image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2i_core.api.errors import BadOption

from .calls import call_arguments

SAID = "divisible by"
"""What pipelines say of a size that they refuse, before they draw."""


def check_size(name: str, option: str, pipe: Any, call: Mapping[str, Any]) -> None:
    """Raise BadOption where a call wants a height or width between those that a loaded pipeline can draw.

    name:   of the model, for the message
    option: what the pipeline's options begin with (`upscaler.`)
    """
    step = _step(pipe, call)
    for side in ("height", "width"):
        asked = call.get(side)
        if isinstance(asked, int) and asked % step:
            below = asked // step * step
            near = f"{below} or {below + step}" if below else f"{step}"
            raise BadOption(
                f"option {option}{side}: {type(pipe).__name__} ({name}) draws multiples of {step} pixels, "
                f"not {asked}: take {near}"
            )


def check_drawn(name: str, pipe: Any, call: Mapping[str, Any], height: int, width: int) -> None:
    """Raise BadOption where an image is not of the size that was asked for."""
    asked = call.get("height") or height, call.get("width") or width
    if asked != (height, width):
        raise BadOption(
            f"{name}: {type(pipe).__name__} draws {width}x{height} pixels where {asked[1]}x{asked[0]} are wanted: "
            "set the options width and height to sizes that it draws"
        )


def _step(pipe: Any, call: Mapping[str, Any]) -> int:
    """Return what a pipeline's sizes are multiples of, as far as the processor of its images says, which brings
    images that are handed in to such sizes; 1 where sizes are brought to the nearest of a list."""
    bins = call_arguments(type(pipe)).get("use_resolution_binning")
    if bins is not None and call.get("use_resolution_binning", bins.default):
        return 1
    processor = getattr(pipe, "image_processor", None)
    return int(getattr(getattr(processor, "config", None), "vae_scale_factor", 1))
