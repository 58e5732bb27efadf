"""Parts and bytes of arrays, tensors, images, pipelines and models, without importing their libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Parts = tuple[tuple[Any, ...], Any]
"""Values that identify it, and a buffer with its content, or None."""


def take_apart(value: object) -> Parts | None:
    """Return the parts of a value whose pickled form is not canonical; None for any other value.

    Raises:
        RuntimeError: If the content cannot be read; or NotImplementedError, OSError or ValueError (a sparse
            tensor, a truncated image).
    """
    for library, name, parts_of in _LIBRARIES:
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(value, getattr(loaded, name)):
            return parts_of(value)
    return None


def _take_array(array: Any) -> Parts | None:
    if type(array).__name__ not in ("ndarray", "memmap"):  # a subclass has its own state
        return None
    described = ("array", array.dtype, array.shape)
    if array.dtype.hasobject or array.dtype.kind == "T":
        return (*described, array.tolist()), None
    flat = array if array.flags.c_contiguous else array.copy(order="C")
    return described, flat.reshape(-1).view("uint8")


def _take_tensor(tensor: Any) -> Parts:
    """Return a tensor's parts; its device does not count."""
    flat = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
    content = flat.view(sys.modules["torch"].uint8).numpy()
    return ("tensor", type(tensor).__qualname__, str(tensor.dtype), tuple(tensor.shape)), content


def _take_image(image: Any) -> Parts:
    return ("image", image.mode, image.size, image.getpalette()), image.tobytes()


def _take_model(model: Any) -> Parts:
    """Return a pydantic model's class and values; whether a value was given or is a default does not count."""
    more = (model.__pydantic_private__, model.__pydantic_extra__)
    return ("model", type(model), dict(model.__dict__), *more), None


def _take_pipeline(pipeline: Any) -> Parts:
    """Return a pipeline's class and components; what a call leaves behind on it does not count."""
    return ("pipeline", type(pipeline), dict(pipeline.components)), None


def _take_scheduler(scheduler: Any) -> Parts:
    """Return a scheduler's class and configuration; the steps of its last call do not count."""
    return ("scheduler", type(scheduler), scheduler.config), None


def _take_config(config: Any) -> Parts:
    """Return the settings of a part of a pipeline, without remarks of the library about them.

    One of the remarks lists the settings that nobody gave, in an order that changes from process to process.
    """
    return ("config", sorted((name, value) for name, value in config.items() if not name.startswith("_"))), None


def _take_tokenizer(tokenizer: Any) -> Parts:
    """Return a tokenizer's class, settings and vocabulary, whose own order changes from process to process."""
    return ("tokenizer", type(tokenizer), repr(tokenizer), sorted(tokenizer.get_vocab().items())), None


_LIBRARIES: tuple[tuple[str, str, Callable[[Any], Parts | None]], ...] = (
    ("numpy", "ndarray", _take_array),
    ("torch", "Tensor", _take_tensor),
    ("PIL.Image", "Image", _take_image),
    ("pydantic", "BaseModel", _take_model),
    ("diffusers.pipelines.pipeline_utils", "DiffusionPipeline", _take_pipeline),
    ("diffusers.configuration_utils", "FrozenDict", _take_config),
    ("diffusers.schedulers.scheduling_utils", "SchedulerMixin", _take_scheduler),
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase", _take_tokenizer),
)
