"""The judge that detects objects and their colours: a DETR with a linear colour head on the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from t2i_core.api import Setup
from t2i_core.api.errors import BadModel
from t2i_torch_support.weights import explain_load_error
from torch import Tensor, nn
from torch.nn import functional

from . import checkpoints
from .checkpoints import CheckpointPlace
from .detector import Detector
from .judge import Features
from .options import DetectorOptions

TOGETHER = frozenset({"detr"})
"""Architectures with one softmax over classes and "no object"; the others score each class with a sigmoid."""


class ColouredDetector(Detector):
    """Detects objects, with `class_probs` and `colours`.

    Class probabilities are DETR's softmax without the column "no object", or RT-DETR's and D-FINE's probability of
    each class, normalised by `together`. Colour probabilities are the softmax of the colour head.
    """

    def __init__(self, setup: Setup[DetectorOptions], place: CheckpointPlace) -> None:
        super().__init__(setup, place)
        config = checkpoints.config(place, setup.offline)
        self.colours = checkpoints.colours(place, config)
        self._together = config["model_type"] in TOGETHER
        folder = checkpoints.fetch(place, setup.offline, setup.options.sha256)
        width = self.loaded.network.config.d_model
        head = load_head(place, checkpoints.check_colours(place, folder), (len(self.colours), width))
        self._head = head.to(self.loaded.device)

    def _run(self, features: Features) -> list[Any]:
        with torch.inference_mode():
            out = self.loaded.network(**self.loaded.inputs(features))
            colours = functional.linear(out.last_hidden_state.float(), self._head.weight, self._head.bias)
        logits = out.logits.float()
        probabilities = self._select(logits.softmax(-1) if self._together else logits.sigmoid())
        found = (probabilities, out.pred_boxes.float().cpu(), colours.softmax(-1).cpu())
        return list(zip(*found, strict=True))


def load_head(place: CheckpointPlace, file: Path, shape: tuple[int, int]) -> nn.Linear:
    """Load a colour head in float32.

    Args:
        place: The checkpoint, for messages.
        file: File of the head.
        shape: Number of colours, and width of the queries.

    Raises:
        BadModel: The file cannot be loaded or has another shape.
    """
    try:
        tensors: dict[str, Tensor] = load_file(file)
    except Exception as error:  # an error of safetensors or of opening the file
        raise BadModel(f"{place.spec}: {file} cannot be loaded ({explain_load_error(error)})") from error
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    wanted = {"weight": shape, "bias": shape[:1]}
    if found != wanted:
        raise BadModel(f"{place.spec}: {file} does not fit its colours: it must hold {wanted} (got {found})")
    head = nn.Linear(shape[1], shape[0])
    head.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return head.requires_grad_(False)


def save_head(head: nn.Linear, folder: Path) -> None:
    """Write a colour head into the folder that `save_pretrained` wrote."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in head.state_dict().items()}
    save_file(tensors, folder / checkpoints.COLOURS)
