"""Preprocessing of images for classifiers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from PIL.Image import Image as PILImage
from torchvision.transforms import Compose, InterpolationMode, Normalize, Resize, ToTensor

from t2i_timm.options import Preprocessing

Transform = Callable[[PILImage], torch.Tensor]


def transform(
    kind: Preprocessing, own: Transform, size: tuple[int, int], mean: Sequence[float], std: Sequence[float]
) -> Transform:
    """Return the transformation for one of the three kinds of preprocessing.

    Args:
        kind: `model`, `paper` or `reference`.
        own: The model's own transformation of a PIL image.
        size: Height and width of the model's input.
        mean: Channel means of the model's normalisation.
        std: Channel standard deviations of the model's normalisation.
    """
    match kind:
        case "model":
            return own
        case "paper":
            resize = Resize(size, InterpolationMode.BILINEAR)
            return Compose([resize, ToTensor(), Normalize(list(mean), list(std))])
        case "reference":
            # the paper's images were saved at the model's size before any classifier saw them
            return Compose([Resize(size, InterpolationMode.BICUBIC), own])
