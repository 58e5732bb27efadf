"""Parts and bytes of arrays, tensors, images and models of libraries, without importing the libraries."""

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


_LIBRARIES: tuple[tuple[str, str, Callable[[Any], Parts | None]], ...] = (
    ("numpy", "ndarray", _take_array),
    ("torch", "Tensor", _take_tensor),
    ("PIL.Image", "Image", _take_image),
    ("pydantic", "BaseModel", _take_model),
)
