"""Evaluate the autoencoder on unseen pictures: ``python evaluate_autoencoder.py DATA WEIGHTS``.

Prints mean absolute errors (of 255) on things and background, PSNR, and how often the mini-segmenter counts each
kind correctly in the pictures and in their reconstructions. --sheet PNG shows the first pictures, each above its
reconstruction.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL
from latents import trained
from numpy.typing import NDArray
from PIL import Image
from t2i_core.api import Truth
from t2i_miniworld import segmenter
from t2i_miniworld.regions import regions
from training_data import labels, load

#: TIAM's threshold: regions with less confidence do not count.
_CONFIDENCE = 0.25


@torch.no_grad()
def passed(network: AutoencoderKL, images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return images (N, S, S, 3) reconstructed from their latents."""
    pictures = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1
    drawn = torch.cat([network.decode(network.encode(x).latent_dist.mean).sample for x in pictures.split(20)])
    found: NDArray[np.uint8] = ((drawn.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()
    return found


def as_counted(images: NDArray[np.uint8], truths: list[Truth]) -> float:
    """Return how often the mini-segmenter counts each kind correctly."""
    network = segmenter.load()
    names = segmenter.classes(network)
    right = 0
    for maps, truth in zip(segmenter.probabilities(network, list(images), 32), truths, strict=True):
        found = Counter(names[region.kind] for region in regions(maps) if region.score >= _CONFIDENCE)
        right += found == Counter(one.cls.name for one in truth.instances)
    return right / len(truths)


def measure(data: Path, weights: Path, scenes: int, sheet: Path | None) -> dict[str, float]:
    """Reconstruct the first unseen scenes, and measure the errors."""
    drawn = list(load(data, "heldout"))
    images = np.concatenate([one.images for one in drawn])[:scenes]
    truths = [truth for one in drawn for truth in one.truths][:scenes]
    back = passed(trained(weights), images)
    apart = np.abs(back.astype(float) - images).mean(axis=3)
    thing = np.stack([labels(truth) for truth in truths]) > 0
    if sheet is not None:
        Image.fromarray(pairs(images[:40], back[:40])).save(sheet)
    return {
        "scenes": len(images),
        "error on things": float(apart[thing].mean()),
        "error on ground": float(apart[~thing].mean()),
        "PSNR": float(-10 * np.log10(((back.astype(float) - images) ** 2).mean() / 255**2)),
        "counted rightly as drawn": as_counted(images, truths),
        "counted rightly afterwards": as_counted(back, truths),
    }


def pairs(above: NDArray[np.uint8], below: NDArray[np.uint8], columns: int = 10) -> NDArray[np.uint8]:
    """Return images in rows, each row above its reconstructions."""
    rows, columns = [], min(columns, len(above))
    for at in range(0, len(above) - columns + 1, columns):
        rows += [np.concatenate(list(images[at : at + columns]), axis=1) for images in (above, below)]
    return np.concatenate(rows)


def main() -> None:
    """Read the command line, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--scenes", type=int, default=500)
    parser.add_argument("--sheet", type=Path)
    given = parser.parse_args()
    for name, value in measure(given.data, given.weights, given.scenes, given.sheet).items():
        print(f"{name}: {value:.4g}")


if __name__ == "__main__":
    main()
