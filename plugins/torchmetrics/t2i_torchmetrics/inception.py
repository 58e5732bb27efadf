"""The judge: features and logits of the Inception network of published FID, IS and KID."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from t2i_core.api import ClassScores, Features, Query, Setup
from t2i_core.api.errors import BadModel
from t2i_core.api.judge import Capability
from t2i_core.api.text import describe_error
from t2i_torch_support.batch import Batches
from t2i_torch_support.device import select_device
from torchmetrics.image.fid import NoTrainInceptionV3

from t2i_torchmetrics import weights
from t2i_torchmetrics.judge_plugin import _labels
from t2i_torchmetrics.options import InceptionOptions

_ON_GPU, _ELSEWHERE = 64, 16
"""Initial batch size."""
_LAYERS = {"features": "2048", "classify": "logits_unbiased"}
"""Output of the network for each capability. The Inception Score uses logits without the last layer's bias."""


class Inception:
    """Computes features (pool3, 2048 dimensions) and logits (1008 classes, without the bias of the last layer).

    The network takes whole 8-bit images and resizes them to 299 x 299 pixels according to the option `resize`.
    Results do not depend on the batch up to rounding (1e-4 of the largest value in float32 on a CPU).
    """

    def __init__(self, setup: Setup[InceptionOptions]) -> None:
        options = setup.options
        self._device = select_device(setup.device)
        file = weights.TENSORFLOW.fetch(options, setup.offline)
        self._network = network(options, file).requires_grad_(False).to(self._device)
        self._labels = _labels(None, options)
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)
        self._fixed = {
            "weights": str(options.checkpoint or weights.TENSORFLOW.url),
            "resize": options.resize,
            "size": [self._network.INPUT_IMAGE_SIZE] * 2,
            "layers": _LAYERS,
            "device": str(self._device),
            "torchmetrics": version("torchmetrics"),
            "torch_fidelity": version("torch-fidelity"),
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Settings for the manifest; the batch size is the current one, after any halving."""
        return {**self._fixed, "batch_size": self._batches.size}

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Features | ClassScores]]:
        """Yield each query with the answer for its image, in order."""
        for query, vector in self._batches.map(partial(self._vectors, _LAYERS[capability]), queries):
            values = vector.numpy()
            yield query, Features(values) if capability == "features" else ClassScores(values, self._labels)

    def close(self) -> None:
        """Release the network."""
        del self._network

    def _vectors(self, layer: str, queries: list[Query]) -> list[torch.Tensor]:
        self._network.features_list = [layer]
        found: dict[int, torch.Tensor] = {}
        for places in _group_by_size(queries):
            pixels = np.stack([queries[i].images[0].pixels for i in places]).transpose(0, 3, 1, 2)
            with torch.inference_mode():
                vectors = self._network(torch.from_numpy(np.ascontiguousarray(pixels)).to(self._device))
            found.update(zip(places, vectors.float().cpu(), strict=True))
        return [found[i] for i in range(len(queries))]


def _group_by_size(queries: list[Query]) -> Iterable[list[int]]:
    """Return the indices of queries by image size; only images of equal size share a batch."""
    places: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, query in enumerate(queries):
        places[query.images[0].pixels.shape].append(i)
    return places.values()


def network(options: InceptionOptions, file: Path) -> Any:
    """Build the network and load its weights. Raises BadModel."""
    try:
        return NoTrainInceptionV3(
            "inception-v3-compat",
            ["2048"],
            weights.read_trusted(file),  # torch.load takes files and paths
            antialias=options.resize == "antialias",
        )
    except RuntimeError as error:  # tensors of another model
        raise BadModel(f"inception-v3: {file} is for another network ({describe_error(error)})") from error
