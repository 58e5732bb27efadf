"""The judge: classifies images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from PIL.Image import Image as PILImage
from t2i_core.api import ClassScores, ObjectClass, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device

from t2i_timm.options import ClassifierOptions

_ON_GPU, _ELSEWHERE = 64, 16
"""Initial batch size."""


@dataclass(frozen=True)
class LoadedClassifier:
    """A classifier with its weights.

    Attributes:
        network: From images (n, 3, height, width) to logits (n, len(labels)).
        preprocess: From a PIL image, mode RGB, to a tensor (3, height, width).
        labels: Classes in the order of the logits.
        settings: Settings for the manifest.
    """

    network: torch.nn.Module
    preprocess: Callable[[PILImage], torch.Tensor]
    labels: tuple[ObjectClass, ...]
    settings: Mapping[str, Any]


class Classifier:
    """Classifies images: float32 logits before the softmax, in the order of the declared classes.

    Results do not depend on the batch up to rounding (1e-5 of the largest logit in float32 on a CPU).
    """

    def __init__(self, loaded: LoadedClassifier, setup: Setup[ClassifierOptions]) -> None:
        self._device = select_device(setup.device)
        self._dtype: torch.dtype = getattr(torch, setup.options.dtype)
        self._network = loaded.network.eval().requires_grad_(False).to(self._device, self._dtype)
        self._loaded = loaded
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {
            **self._loaded.settings,
            "dtype": str(self._dtype).removeprefix("torch."),
            "device": str(self._device),
            "batch_size": self._batches.size,
        }

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, ClassScores]]:
        """Yield each query with the logits of its image, in order."""
        for query, logits in self._batches.map(self._logits, queries):
            yield query, ClassScores(logits.numpy(), self._loaded.labels)

    def close(self) -> None:
        """Release the network."""
        del self._network, self._loaded

    def _logits(self, queries: list[Query]) -> list[torch.Tensor]:
        images = torch.stack([self._loaded.preprocess(query.images[0].pil()) for query in queries])
        with torch.inference_mode():
            logits = self._network(images.to(self._device, self._dtype))
        return list(logits.float().cpu())


def check_head(
    network: torch.nn.Module, labels: tuple[ObjectClass, ...], size: tuple[int, int], name: str
) -> None:
    """Raise BadModel if a network does not return one logit per class; `size` is its images' height and width."""
    with torch.inference_mode():
        shape = tuple(network.eval()(torch.zeros(1, 3, *size)).shape)
    if shape != (1, len(labels)):
        raise BadModel(f"{name}: it gives outputs of shape {shape[1:]} for {len(labels)} classes")
