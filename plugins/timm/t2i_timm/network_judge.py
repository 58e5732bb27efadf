"""A judge that runs one network on batches of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from PIL.Image import Image as PILImage
from t2i_core.api import Query, Setup
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device

from t2i_timm.options import NetworkOptions

_ON_GPU, _ELSEWHERE = 64, 16
"""Initial batch size."""


@dataclass(frozen=True)
class LoadedNetwork:
    """A network with its weights.

    Attributes:
        network: From images (n, 3, height, width) to vectors (n, d).
        preprocess: From a PIL image, mode RGB, to a tensor (3, height, width).
        settings: Settings for the manifest.
    """

    network: torch.nn.Module
    preprocess: Callable[[PILImage], torch.Tensor]
    settings: Mapping[str, Any]


class NetworkJudge:
    """Base of judges: batches, device, precision and settings of a network."""

    def __init__(self, loaded: LoadedNetwork, setup: Setup[Any]) -> None:
        options: NetworkOptions = setup.options
        self._device = select_device(setup.device)
        self._dtype: torch.dtype = getattr(torch, options.dtype)
        self._network = loaded.network.eval().requires_grad_(False).to(self._device, self._dtype)
        self._preprocess, self._settings = loaded.preprocess, loaded.settings
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {
            **self._settings,
            "dtype": str(self._dtype).removeprefix("torch."),
            "device": str(self._device),
            "batch_size": self._batches.size,
        }

    def close(self) -> None:
        """Release the network."""
        del self._network

    def run(self, queries: Iterable[Query]) -> Iterator[tuple[Query, torch.Tensor]]:
        """Yield each query with the network's vector of its image, float32 of shape (d,), in order."""
        yield from self._batches.map(self._run_batch, queries)

    def _run_batch(self, queries: list[Query]) -> list[torch.Tensor]:
        images = torch.stack([self._preprocess(query.images[0].pil()) for query in queries])
        with torch.inference_mode():
            vectors = self._network(images.to(self._device, self._dtype))
        return list(vectors.float().cpu())
