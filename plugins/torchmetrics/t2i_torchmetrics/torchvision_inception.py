"""The judge `inception-v3-torchvision`: torchvision's Inception network, prepared as in DM-GAN's FID."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from PIL import Image as PILImage
from t2i_core.api import Features, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_core.api.text import describe_error
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device

from t2i_torchmetrics import weights
from t2i_torchmetrics.options import InceptionWeightsOptions

SIZE = 299
_ON_GPU, _ELSEWHERE = 64, 16
"""Initial batch size."""


class TorchvisionInception:
    """Computes features (the average pool, 2048 dimensions).

    Pillow resizes the whole 8-bit image to 299 x 299 pixels, bilinear, and the network maps values of [0, 1] as if
    they were normalised for ImageNet already, so that white becomes .428, .360, .262. This is what DM-GAN's code
    does, and reference statistics in FILE.npz depend on it.

    References:
        MinfengZhu/DM-GAN, eval/FID (MIT).
    """

    def __init__(self, setup: Setup[InceptionWeightsOptions]) -> None:
        options = setup.options
        self._device = select_device(setup.device)
        file = weights.TORCHVISION.fetch(options, setup.offline)
        self._network = load_network(file).to(self._device)
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)
        self._fixed = {
            "weights": str(options.checkpoint or weights.TORCHVISION.url),
            "resize": "Pillow, bilinear",
            "size": [SIZE] * 2,
            "device": str(self._device),
            "torchvision": torchvision.__version__,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {**self._fixed, "batch_size": self._batches.size}

    def observe(self, capability: Capability, queries: Iterable[Query]) -> Iterator[tuple[Query, Features]]:
        """Yield each query with the features of its image, in order."""
        for query, vector in self._batches.map(self._compute, queries):
            yield query, Features(vector.numpy())

    def close(self) -> None:
        """Release the network."""
        del self._network

    def _compute(self, queries: list[Query]) -> list[torch.Tensor]:
        batch = torch.stack([prepare_image(query.images[0].pixels) for query in queries])
        with torch.inference_mode():
            return list(self._network(batch.to(self._device)).float().cpu())


def prepare_image(pixels: np.ndarray) -> torch.Tensor:
    """Return an image of shape (height, width, 3) as the network takes it: (3, 299, 299), in [0, 1]."""
    resized = PILImage.fromarray(pixels).resize((SIZE, SIZE), PILImage.Resampling.BILINEAR)
    return torch.from_numpy(np.asarray(resized, np.float32).transpose(2, 0, 1).copy()) / 255


def load_network(file: Path) -> torch.nn.Module:
    """Build the network up to its average pool, with the weights of a file. Raises BadModel."""
    network = torchvision.models.inception_v3(
        weights=None, aux_logits=True, transform_input=True, init_weights=False
    )
    try:
        network.load_state_dict(weights.TORCHVISION.read(file))
    except RuntimeError as error:  # tensors of another model
        raise BadModel(
            f"{weights.TORCHVISION.spec}: {file} is for another network ({describe_error(error)})"
        ) from error
    network.AuxLogits, network.fc = None, torch.nn.Identity()
    return network.eval().requires_grad_(False)
