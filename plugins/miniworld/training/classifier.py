"""Network of `mini-classifier`: a MobileNetV3 (timm) for the mini world's lowest synsets."""

from __future__ import annotations

from pathlib import Path

import timm
import torch
from PIL import Image
from t2i_miniworld.vocabulary import LEAVES
from timm.data import create_transform, resolve_model_data_config
from timm.models import save_for_hf
from torch import Tensor, nn

ARCHITECTURE = "mobilenetv3_small_100"
WEIGHTS = Path(__file__).parents[1] / "t2i_miniworld" / "weights" / "mini-classifier"
LABELS = tuple(LEAVES)

#: Side in pixels of the network's square input; timm scales other pictures to it without cropping.
SIDE = 96
_MEAN, _DEVIATION = 0.5, 0.25


def build() -> nn.Module:
    """Return the network with random weights: one label for each leaf of the vocabulary."""
    network: nn.Module = timm.create_model(ARCHITECTURE, pretrained=False, num_classes=len(LABELS))
    return network


def save(network: nn.Module, folder: Path) -> Path:
    """Write a folder that timm loads (safetensors, half precision, labels in config.json) and return it."""
    looks = {
        "input_size": (3, SIDE, SIDE),
        "mean": (_MEAN,) * 3,
        "std": (_DEVIATION,) * 3,
        "interpolation": "bilinear",
        "crop_pct": 1.0,
        "crop_mode": "squash",
    }
    save_for_hf(
        network.half().to(memory_format=torch.contiguous_format),
        str(folder),
        model_config={"label_names": list(LABELS), "pretrained_cfg": {"tag": "mini_world"}},
        safe_serialization=True,
        data_config=looks,
    )
    return folder


def load(folder: Path = WEIGHTS) -> nn.Module:
    """Return the network with trained weights, in single precision, ready for inference."""
    network: nn.Module = timm.create_model(f"local-dir:{folder}", pretrained=True)
    return network.eval().requires_grad_(False)


def prepared(network: nn.Module, images: list[Image.Image]) -> Tensor:
    """Convert pictures of any size to the network's input (N, 3, SIDE, SIDE), by its config."""
    change = create_transform(**resolve_model_data_config(network), is_training=False)
    return torch.stack([change(image) for image in images])


def seen(views: Tensor) -> Tensor:
    """Convert sRGB pictures (N, 3, H, W), 0 to 1, to the network's input like `prepared`, for training."""
    small = nn.functional.interpolate(views, (SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False)
    return (small - _MEAN) / _DEVIATION
