"""The judge: features and logits of the Inception network that FID, IS and KID are published with."""

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
"""How many images at a time, at first."""
_LAYERS = {"features": "2048", "classify": "logits_unbiased"}
"""What answers each capability. The Inception Score's logits are those before the last layer's bias is added."""


class Inception:
    """Answers `features` (pool3, 2048 numbers) and `classify` (1008 logits, without the bias of the last layer).

    Images are taken whole, as 8-bit numbers, and brought to 299 x 299 pixels in the network, as `resize` says. The
    same for any batch up to rounding (1e-4 of the largest number in float32 on a CPU).
    """

    def __init__(self, setup: Setup[InceptionOptions]) -> None:
        options = setup.options
        self._device = select_device(setup.device)
        file = weights.fetch(options, setup.offline)
        self._network = network(options, file).requires_grad_(False).to(self._device)
        self._labels = _labels(None, options)
        self._batches = Batches(setup.batch_size, _ELSEWHERE if self._device.type == "cpu" else _ON_GPU)
        self._fixed = {
            "weights": str(options.checkpoint or weights.URL),
            "resize": options.resize,
            "size": [self._network.INPUT_IMAGE_SIZE] * 2,
            "layers": _LAYERS,
            "device": str(self._device),
            "torchmetrics": version("torchmetrics"),
            "torch_fidelity": version("torch-fidelity"),
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What a reader of its answers must know; the batch is what was left of it after any halving."""
        return {**self._fixed, "batch_size": self._batches.size}

    def observe(
        self, capability: Capability, queries: Iterable[Query]
    ) -> Iterator[tuple[Query, Features | ClassScores]]:
        """Look at the image of each query, in order."""
        for query, vector in self._batches.map(partial(self._vectors, _LAYERS[capability]), queries):
            values = vector.numpy()
            yield query, Features(values) if capability == "features" else ClassScores(values, self._labels)

    def close(self) -> None:
        """Let go of the network."""
        del self._network

    def _vectors(self, layer: str, queries: list[Query]) -> list[torch.Tensor]:
        self._network.features_list = [layer]
        found: dict[int, torch.Tensor] = {}
        for places in _by_size(queries):
            pixels = np.stack([queries[i].images[0].pixels for i in places]).transpose(0, 3, 1, 2)
            with torch.inference_mode():
                vectors = self._network(torch.from_numpy(np.ascontiguousarray(pixels)).to(self._device))
            found.update(zip(places, vectors.float().cpu(), strict=True))
        return [found[i] for i in range(len(queries))]


def _by_size(queries: list[Query]) -> Iterable[list[int]]:
    """Places of queries whose images are of one size: only these can be worked on together."""
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
            weights.trusted(file),  # type: ignore[arg-type]  # torch.load takes files and paths
            antialias=options.resize == "antialias",
        )
    except RuntimeError as error:  # tensors of another model
        raise BadModel(f"inception-v3: {file} is not this network's ({describe_error(error)})") from error
