"""Features of images, computed once for all questions about the same images."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from PIL.Image import Image as PILImage
from t2i_core.api import Query

Key = tuple[str, ...]
"""Digests of the images of a question, in order."""

_PIXELS = ("pixel_values", "pixel_values_images", "image_patches")
_JOINED = ("pooler_output", "deepstack_features")
"""Fields of a vision tower's output that language models of transformers read."""


@dataclass
class EncodedImages:
    """The images of a question.

    Attributes:
        pixels: The images.
        inputs: The image processor's output; None until the first question is written.
        features: The vision tower's output; None until the first question is answered.
    """

    pixels: Sequence[PILImage]
    inputs: Mapping[str, Any] | None = None
    features: Any = None


@dataclass
class ImageStore:
    """The encoded images of the questions of a batch.

    Attributes:
        images: The images; those of the batch before stay until a batch does not ask for them.
    """

    images: dict[Key, EncodedImages] = field(default_factory=dict)

    def find(self, query: Query) -> EncodedImages:
        """Return the images of a query; they are opened once."""
        key = find_key(query)
        if key not in self.images:
            self.images[key] = EncodedImages([image.pil() for image in query.images])
        return self.images[key]

    def keep(self, queries: Collection[Query]) -> None:
        """Drop all images but those of these queries."""
        wanted = {find_key(query) for query in queries}
        self.images = {key: images for key, images in self.images.items() if key in wanted}


def find_key(query: Query) -> Key:
    """Return the key of a query's images."""
    return tuple(image.identity for image in query.images)


class RememberingImageProcessor:
    """An image processor that processes each question's images once.

    It stands in the place of a processor's own image processor, and passes everything else on to it.

    Attributes:
        current: The images of the question that is being written; None: process as usual.
    """

    def __init__(self, own: Any) -> None:
        self._own = own
        self.current: EncodedImages | None = None

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the processed images: those of the current question from memory, if they are there."""
        if self.current is None:
            return self._own(images, *args, **kwargs)
        if self.current.inputs is None:
            self.current.inputs = self._own(images, *args, **kwargs)
        return copy.copy(self.current.inputs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the image processor itself."""
        return getattr(self.__dict__["_own"], name)


def can_reuse_features(network: Any) -> bool:
    """Return whether a model of transformers takes a vision tower's output in place of pixels."""
    return "mm_encoder_outputs" in inspect.signature(network.forward).parameters


def encode_images(network: Any, inputs: Mapping[str, torch.Tensor]) -> Any:
    """Return the output of a model's vision tower, projected to the language model.

    Args:
        network: A model that can reuse features.
        inputs: The model's input for one question.
    """
    takes = inspect.signature(network.base_model.get_image_features).parameters
    given = {name: value for name, value in inputs.items() if name in takes}
    found = network.base_model.get_image_features(**given, return_dict=True)
    return join_features([found])  # without the tower's hidden states, which take memory


def drop_pixels(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return a model's input without pixels."""
    return {name: value for name, value in inputs.items() if name not in _PIXELS}


def join_features(features: Sequence[Any]) -> Any:
    """Return the outputs of a vision tower for several questions as one output.

    Args:
        features: For each question, the output for its images.
    """
    found = {name: [getattr(each, name) for each in features] for name in _JOINED if hasattr(features[0], name)}
    joined = {"pooler_output": _join(found.pop("pooler_output"))}
    for name, of_levels in found.items():  # one value per level of the tower
        joined[name] = [_join(level) for level in zip(*of_levels, strict=True)]
    return type(features[0])(**joined)


def _join(parts: Sequence[Any]) -> Any:
    """Return tensors joined along their first axis, or lists of tensors as one list."""
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(list(parts))
    return [each for part in parts for each in part]
