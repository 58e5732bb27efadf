"""Augmentation of training pictures: view, colour, blur, noise and JPEG.

The changes are strong enough to cover pictures of other sources (a small diffusion model), and weak enough that
the class of each thing stays recognisable.
"""

from __future__ import annotations

import io

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

#: Matrix from RGB to YIQ: brightness and two colour axes. Rotating the two axes shifts the hue.
_YIQ = torch.tensor([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])


def augment(images: Tensor, labels: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Augment a batch: images (N, 3, H, W), 0 to 1, and labels (N, H, W), with the same random views."""
    images, labels = _view(images, labels, random)
    return degrade(images, random), labels


def degrade(images: Tensor, random: torch.Generator) -> Tensor:
    """Change colours and sharpness of images (N, 3, H, W), 0 to 1, without moving anything.

    Changes of sharpness apply to a share of the pictures: blur to 35 %, lower resolution to 20 %, noise to 60 %,
    and JPEG to 30 %.
    """
    images = _colour(images, random).clamp(0, 1)
    for share, change in ((0.35, _blurred), (0.2, _coarse), (0.6, _noisy), (0.3, _compressed)):
        chosen = torch.nonzero(_uniform(0, 1, len(images), random) < share)[:, 0]
        for number in chosen.tolist():
            images[number] = change(images[number], random)
    return images.clamp(0, 1)


def blur(image: Tensor, sigma: float) -> Tensor:
    """Blur a picture (3, H, W) with a Gaussian of ``sigma`` pixels."""
    reach = max(1, round(3 * sigma))
    kernel = torch.exp(-0.5 * (torch.arange(-reach, reach + 1) / sigma) ** 2)
    kernel = (kernel / kernel.sum()).view(1, 1, 1, -1)
    padded = nn.functional.pad(image[:, None], (reach, reach, reach, reach), mode="replicate")
    return nn.functional.conv2d(nn.functional.conv2d(padded, kernel), kernel.transpose(2, 3))[:, 0]


def shift_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Shift the hue of pictures (N, 3, H, W), each by its own fraction of a full circle (N,)."""
    angle = 2 * torch.pi * turns
    cos, sin, one, zero = angle.cos(), angle.sin(), torch.ones_like(angle), torch.zeros_like(angle)
    turn = torch.stack([one, zero, zero, zero, cos, -sin, zero, sin, cos], dim=1).view(-1, 3, 3)
    return torch.einsum("nij,njhw->nihw", torch.linalg.inv(_YIQ) @ turn @ _YIQ, images)


def compress(image: Tensor, quality: int) -> Tensor:
    """Compress a picture (3, H, W), 0 to 1, by JPEG with a ``quality`` of 1 to 95."""
    pixels = (image.permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return torch.from_numpy(np.array(Image.open(file))).permute(2, 0, 1).float() / 255


def _uniform(low: float, high: float, count: int, random: torch.Generator) -> Tensor:
    return torch.empty(count).uniform_(low, high, generator=random)


def _draw(low: float, high: float, random: torch.Generator) -> float:
    return float(_uniform(low, high, 1, random))


def _view(images: Tensor, labels: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Mirror half of the images; zoom by .85 to 1.5, rotate by up to 8 degrees, shift by up to 15 %."""
    count = len(images)
    zoom = 1 / torch.exp(_uniform(-0.16, 0.4, count, random))
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
    """Vary brightness, gamma, contrast, saturation, hue and the balance of the channels independently."""
    count = len(images)

    def each(low: float, high: float) -> Tensor:
        return _uniform(low, high, count, random)[:, None, None, None]

    balance = 1 + _uniform(-0.12, 0.12, 3 * count, random).reshape(count, 3, 1, 1)
    images = (images * each(0.75, 1.25) * balance).clamp(0, 1) ** torch.exp(each(-0.25, 0.25))
    images = shift_hue(images, _uniform(-0.06, 0.06, count, random))
    grey = images.mean(dim=1, keepdim=True)
    images = grey + (images - grey) * each(0.6, 1.35)
    middle = images.mean(dim=(1, 2, 3), keepdim=True)
    return middle + (images - middle) * each(0.75, 1.25)


def _blurred(image: Tensor, random: torch.Generator) -> Tensor:
    return blur(image, _draw(0.4, 1.8, random))


def _coarse(image: Tensor, random: torch.Generator) -> Tensor:
    """Scale down to 50 to 90 % and up again."""
    size = tuple(image.shape[-2:])
    small = nn.functional.interpolate(
        image[None], scale_factor=_draw(0.5, 0.9, random), mode="bilinear", antialias=True
    )
    return nn.functional.interpolate(small, size, mode="bicubic")[0]


def _noisy(image: Tensor, random: torch.Generator) -> Tensor:
    """Add noise of up to 7 %."""
    return image + _draw(0, 0.07, random) * torch.randn(image.shape, generator=random)


def _compressed(image: Tensor, random: torch.Generator) -> Tensor:
    return compress(image.clamp(0, 1), int(torch.randint(30, 96, (1,), generator=random)))
