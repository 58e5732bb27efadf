"""Changes to training pictures that leave what they show as it is: view, colour, noise, blur."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def augment(images: Tensor, labels: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Change a batch: images (N, 3, H, W) in 0 to 1 and labels (N, H, W), both by the same random views."""
    images, labels = _view(images, labels, random)
    return _degrade(_colour(images, random), random).clamp(0, 1), labels


def _uniform(low: float, high: float, count: int, random: torch.Generator) -> Tensor:
    return torch.empty(count).uniform_(low, high, generator=random)


def _view(images: Tensor, labels: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Mirror half of them, zoom by .75 to 1.5, turn by up to 8 degrees, shift by up to 15 %."""
    count = len(images)
    zoom = 1 / torch.exp(_uniform(-0.28, 0.4, count, random))
    mirror = torch.where(_uniform(0, 1, count, random) < 0.5, -1.0, 1.0)
    angle = _uniform(-0.14, 0.14, count, random)
    shift = torch.stack([_uniform(-0.3, 0.3, count, random), _uniform(-0.3, 0.3, count, random)], dim=1)
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    turn = torch.stack([torch.stack([cos * mirror, -sin], 1), torch.stack([sin * mirror, cos], 1)], 1)
    where = nn.functional.affine_grid(
        torch.cat([turn, shift[..., None]], dim=2), list(images.shape), align_corners=False
    )
    seen = nn.functional.grid_sample(images, where, padding_mode="reflection", align_corners=False)
    named = nn.functional.grid_sample(
        labels[:, None].float(), where, mode="nearest", padding_mode="reflection", align_corners=False
    )
    return seen, named[:, 0].long()


def _colour(images: Tensor, random: torch.Generator) -> Tensor:
    """Vary brightness, contrast, saturation and the balance of the channels, each picture by itself."""
    count = len(images)
    gain = _uniform(0.75, 1.25, count, random)[:, None, None, None]
    contrast = _uniform(0.75, 1.25, count, random)[:, None, None, None]
    saturation = _uniform(0.6, 1.3, count, random)[:, None, None, None]
    balance = 1 + _uniform(-0.08, 0.08, 3 * count, random).reshape(count, 3, 1, 1)
    images = images * gain * balance
    grey = images.mean(dim=1, keepdim=True)
    images = grey + (images - grey) * saturation
    middle = images.mean(dim=(1, 2, 3), keepdim=True)
    return middle + (images - middle) * contrast


def _degrade(images: Tensor, random: torch.Generator) -> Tensor:
    """Blur some, and add noise of up to 5 % to all."""
    count = len(images)
    share = (_uniform(-1, 1, count, random).clamp(min=0))[:, None, None, None]
    soft = nn.functional.avg_pool2d(
        nn.functional.avg_pool2d(images, 3, stride=1, padding=1, count_include_pad=False),
        3, stride=1, padding=1, count_include_pad=False,
    )  # fmt: skip
    images = images + share * (soft - images)
    level = _uniform(0, 0.05, count, random)[:, None, None, None]
    return images + level * torch.randn(images.shape, generator=random)
