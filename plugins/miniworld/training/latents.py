"""Encode training pictures as latents: ``python plugins/miniworld/training/latents.py DATA AUTOENCODER OUT``.

AUTOENCODER is a training folder or a packed pipeline. For each shard of DATA, OUT gets a file NAME.npy
(100, 4, 16, 16), float16, with the unscaled means of the autoencoder's posteriors. Existing files are kept.
OUT/scaling.json has the reciprocal of their standard deviation, measured on the first 1,000 pictures, or the
pipeline's own factor. OUT/autoencoder.txt has a digest of the autoencoder's weights; another autoencoder needs
another folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import autoencoder
import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from t2i_torch_support.training import load_average
from training_data import read_shard, shards

_MEASURED = 10


def encode(data: Path, weights: Path, out: Path, splits: tuple[str, ...] = ("train", "heldout")) -> None:
    """Encode all shards that are not encoded yet.

    Raises:
        SystemExit: If ``out`` contains latents of another autoencoder.
    """
    network = trained(weights)
    out.mkdir(parents=True, exist_ok=True)
    mark = out / "autoencoder.txt"
    if mark.exists() and mark.read_text() != digest(network):
        raise SystemExit(f"{out} contains latents of another autoencoder; choose another folder")
    mark.write_text(digest(network))
    for path in [path for split in splits for path in shards(data, split)]:
        target = out / f"{path.stem}.npy"
        if not target.exists():
            part = out / "part.npy"
            np.save(part, latents_of(network, read_shard(path).images))
            part.rename(target)
            print(target.name, flush=True)
    first = sorted(out.glob("train-*.npy"))[:_MEASURED]
    if first and not (out / "scaling.json").exists():
        factor = network.config.scaling_factor if is_pipeline(weights) else _scaling_factor(first)
        (out / "scaling.json").write_text(json.dumps({"scaling_factor": factor}) + "\n")


def _scaling_factor(paths: list[Path]) -> float:
    spread = float(np.concatenate([np.load(path).astype(np.float32) for path in paths]).std())
    return round(1 / spread, 6)


def is_pipeline(folder: Path) -> bool:
    """Return whether a folder is a packed pipeline (`pack_mini`), not a training folder."""
    return (folder / "model_index.json").exists()


def trained(weights: Path) -> AutoencoderKL:
    """Load the autoencoder of a packed pipeline, or the averaged network of a training folder."""
    if is_pipeline(weights):
        packed: AutoencoderKL = AutoencoderKL.from_pretrained(weights, subfolder="vae").float()
        return packed.eval().requires_grad_(False)
    settings = json.loads((weights / "settings.json").read_text())
    network: AutoencoderKL = load_average(autoencoder.build(tuple(settings["channels"])), weights)
    return network


@torch.no_grad()
def latents_of(network: AutoencoderKL, images: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return the latents (N, 4, S / 8, S / 8) of images (N, S, S, 3)."""
    pictures = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1
    means = [network.encode(batch).latent_dist.mean for batch in pictures.split(20)]
    found: NDArray[np.float16] = torch.cat(means).half().numpy()
    return found


def digest(network: torch.nn.Module) -> str:
    """Return a digest of the network's weights."""
    found = hashlib.blake2b(digest_size=16)
    for name, value in network.state_dict().items():
        found.update(name.encode() + value.contiguous().cpu().numpy().tobytes())
    return found.hexdigest()


def main() -> None:
    """Read the command line and encode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("autoencoder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    encode(given.data, given.autoencoder, given.out)


if __name__ == "__main__":
    main()
