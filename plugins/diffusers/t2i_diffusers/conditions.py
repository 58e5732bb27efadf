"""The conditions that a pipeline passes to its denoiser for a caption, captured from the pipeline itself.

Every pipeline encodes texts in its own way and adds its own conditions (sizes, pooled texts, masks, positions).
Therefore this module calls the pipeline with the caption, without guidance, until it calls its denoiser, and keeps
the arguments of that call to repeat it with other noise and times. The text is encoded once.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from t2i_core.api.errors import BadModel

from .loaded_pipeline import PipelineStage

_SAMPLES = ("sample", "hidden_states", "x")
_TIMES = ("timestep", "t")
_GUIDANCE = ("guidance_scale", "true_cfg_scale")
_NO_GUIDANCE = {"ZImagePipeline": 0.0}
"""Value that means no guidance, for arguments where it is not 1."""


@dataclass(frozen=True)
class Heard:
    """The arguments of a denoiser for one caption.

    Attributes:
        sample: Noise for one image; a list of one tensor if the denoiser takes a list.
        timestep: The first time step, as the denoiser takes it.
        step: The same time step, as the scheduler counts it.
        sample_name: Name of the denoiser's argument for samples.
        time_name: Name of the denoiser's argument for times.
        further: Other arguments.
    """

    sample: torch.Tensor | list[torch.Tensor]
    timestep: torch.Tensor
    step: float
    sample_name: str
    time_name: str
    further: Mapping[str, Any]

    @property
    def shape(self) -> torch.Size:
        """The shape of one sample."""
        return self.sample[0].shape

    @property
    def kin(self) -> Any:
        """A key that is equal for captions that fit into one batch."""
        return _make_shape_key(self.further)


class _Turned(Exception):
    """Carries the denoiser's arguments out of the pipeline's call."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__("the pipeline called its denoiser")
        self.arguments = arguments


def capture_arguments(stage: PipelineStage, denoiser: Any, caption: str, size: tuple[int, int]) -> Heard:
    """Return the arguments that a pipeline passes to its denoiser for a caption.

    `size` is the width and height of the image in pixels.

    Raises:
        BadModel: The pipeline needs more than a text, or calls its denoiser in an unsupported way.
    """
    signature = inspect.signature(type(denoiser).forward)

    def capture(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        raise _Turned(signature.bind(module, *args, **kwargs).arguments)

    handle = denoiser.register_forward_pre_hook(capture, with_kwargs=True)
    try:
        with torch.inference_mode():
            stage.pipe(**_call(stage, caption, size))
    except _Turned as heard:
        arguments = dict(heard.arguments)
    else:
        raise BadModel(f"{stage.model}: {type(stage.pipe).__name__} does not call its denoiser")
    finally:
        handle.remove()
    arguments.pop("self")
    arguments |= arguments.pop("kwargs", {})
    names = [next((n for n in known if n in arguments), None) for known in (_SAMPLES, _TIMES)]
    sample_name, time_name = names
    if sample_name is None or time_name is None or len(arguments[sample_name]) != 1:
        raise BadModel(
            f"{stage.model}: {type(stage.pipe).__name__} does not call its denoiser with one sample at one time"
        )
    sample = arguments.pop(sample_name)
    timestep = torch.as_tensor(arguments.pop(time_name))
    step = float(stage.pipe.scheduler.timesteps[0])
    return Heard(sample, timestep, step, sample_name, time_name, arguments)


def _call(stage: PipelineStage, caption: str, size: tuple[int, int]) -> dict[str, Any]:
    """Return the arguments of the pipeline's call: those of generation, without guidance and at a given size."""
    takes = stage.arguments
    wanted = {n for n, p in takes.items() if p.default is inspect.Parameter.empty} - {"prompt"}
    if wanted:
        raise BadModel(
            f"{stage.model}: {type(stage.pipe).__name__} needs {', '.join(sorted(wanted))} besides a text, "
            "so it has no likelihood of an image under a text"
        )
    own = {
        **{
            name: _NO_GUIDANCE.get(type(stage.pipe).__name__, 1.0)
            for name in _GUIDANCE
            if _has_default(takes, name)
        },
        "width": size[0],
        "height": size[1],
        "use_resolution_binning": False,
        "generator": torch.Generator("cpu").manual_seed(0),
        "output_type": "latent",
    }
    given = {name: value for name, value in stage.call.items() if name != "negative_prompt"}
    return {**given, **{name: value for name, value in own.items() if name in takes}, "prompt": [caption]}


def _has_default(takes: Mapping[str, inspect.Parameter], name: str) -> bool:
    """Return whether a pipeline uses guidance by default."""
    return name in takes and takes[name].default is not None


def join_arguments(items: Sequence[Any]) -> Any:
    """Return the arguments of several captions with equal keys as one batch.

    Arguments for one image have a first axis, or a list, of length 1. Other arguments are taken from the first
    caption.
    """
    first = items[0]
    if isinstance(first, Mapping):
        return {name: join_arguments([item[name] for item in items]) for name in first}
    if isinstance(first, tuple):
        return tuple(join_arguments(list(parts)) for parts in zip(*items, strict=True))
    if isinstance(first, list) and len(first) == 1:
        return [part for item in items for part in item]
    if isinstance(first, torch.Tensor) and first.ndim and len(first) == 1:
        return torch.cat(list(items))
    return first


def _make_shape_key(item: Any) -> Any:
    """Return what must be equal for `join_arguments`; items of a list may differ."""
    if isinstance(item, Mapping):
        return tuple((name, _make_shape_key(value)) for name, value in item.items())
    if isinstance(item, tuple):
        return tuple(_make_shape_key(part) for part in item)
    if isinstance(item, torch.Tensor):
        return tuple(item.shape)
    return len(item) if isinstance(item, list) else str(item)
