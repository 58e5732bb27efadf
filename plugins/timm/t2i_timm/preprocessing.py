"""What becomes of an image before a classifier sees it."""

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
    """Return one of the three ways.

    own:        the model's own, from a PIL image
    size:       height and width that the model sees
    mean, std:  of the channels, by which the model's own normalises
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
