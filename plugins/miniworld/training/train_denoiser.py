"""Train a denoiser: ``python plugins/miniworld/training/train_denoiser.py DATA LATENTS TEXT OUT``.

DATA contains the scenes, LATENTS the latents of their pictures (`latents`), and TEXT is a folder of `train_text`
or a packed pipeline. Each picture gets a new caption every time, and none with probability 0.1, which allows
guidance. The same command resumes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import denoiser
import numpy as np
import torch
import train_text
from captions import caption
from diffusers import UNet2DConditionModel
from latents import digest
from t2i_core.api import Instance
from t2i_torch_support.training import Course, train
from torch import Tensor, nn
from training_data import PER_SHARD, read_shard, shards
from transformers import CLIPTextModel, CLIPTokenizer


@dataclass(frozen=True)
class Noising:
    """Settings of the denoiser's training.

    Attributes:
        empty: Probability that a picture has no caption.
        snr: Noise levels with a signal-to-noise ratio above this have a lower weight.

    References:
        min-SNR: Hang et al., ICCV 2023.
    """

    empty: float = 0.1
    snr: float = 5.0


@dataclass(frozen=True)
class Encoded:
    """Latents (N, 4, s, s) of standard deviation 1, and the instances in their pictures."""

    latents: Tensor
    shown: list[tuple[Instance, ...]]
    scaling: float


def load(data: Path, latents: Path, scenes: int) -> Encoded:
    """Load the first ``scenes`` training pictures.

    Raises:
        SystemExit: If fewer have been encoded.
    """
    paths = [
        path for path in shards(data, "train")[: scenes // PER_SHARD] if (latents / f"{path.stem}.npy").exists()
    ]
    if len(paths) * PER_SHARD < scenes:
        raise SystemExit(f"{latents}: {len(paths) * PER_SHARD} of {scenes} scenes are encoded; run latents.py")
    scaling = float(json.loads((latents / "scaling.json").read_text())["scaling_factor"])
    numbers = np.concatenate([np.load(latents / f"{path.stem}.npy") for path in paths])
    shown = [truth.instances for path in paths for truth in read_shard(path).truths]
    return Encoded(torch.from_numpy(numbers).float() * scaling, shown, scaling)


@torch.no_grad()
def states(tokenizer: CLIPTokenizer, encoder: CLIPTextModel, texts: list[str]) -> Tensor:
    """Return the encoder's states (N, L, D) for texts, padded like in the pipeline."""
    tokens = tokenizer(texts, padding="max_length", truncation=True, return_tensors="pt").input_ids.to(
        encoder.device
    )
    found: Tensor = encoder(tokens).last_hidden_state
    return found


def loss_of(
    network: nn.Module, latents: Tensor, texts: Tensor, times: Tensor, noise: Tensor, noising: Noising
) -> Tensor:
    """Return the mean squared error of the predicted velocities, weighted by noise level."""
    schedule = denoiser.scheduler()
    kept = schedule.alphas_cumprod.to(times.device)[times]
    snr = kept / (1 - kept)
    noisy = schedule.add_noise(latents, noise, times)
    wanted = schedule.get_velocity(latents, noise, times)
    apart = (network(noisy, times, texts).sample - wanted).pow(2).mean(dim=(1, 2, 3))
    return (apart * snr.clamp(max=noising.snr) / (snr + 1)).mean()


def copy_backbone(network: UNet2DConditionModel, folder: Path) -> str:
    """Copy the weights of another denoiser, but not those of its cross-attention, which alone reads the text.

    Returns:
        A digest of the other denoiser.
    """
    other = UNet2DConditionModel.from_pretrained(folder).float()
    kept = {name: value for name, value in other.state_dict().items() if ".attn2." not in name}
    network.load_state_dict(kept, strict=False)
    return digest(other)


def run(
    data: Path,
    latents: Path,
    text: Path,
    out: Path,
    course: Course,
    size: str,
    scenes: int,
    device: str = "cpu",
    backbone: Path | None = None,
) -> nn.Module:
    """Train a denoiser of the given size on the first ``scenes`` pictures; return the averaged network.

    Args:
        data: Folder of scenes.
        latents: Folder of their latents.
        text: Training folder of the text encoder, or a packed pipeline.
        out: Folder of the checkpoint.
        course: Settings of the training.
        size: A key of `denoiser.SIZES`.
        scenes: Number of pictures.
        device: Device of the network.
        backbone: Folder of a denoiser of the same size to start from, except for what reads the text.
    """
    encoded, noising = load(data, latents, scenes), Noising()
    tokenizer, encoder = train_text.encoder_of(text)
    mark = digest(encoder)
    torch.manual_seed(course.seed)
    network = denoiser.build(denoiser.SIZES[size], encoder.config.hidden_size).train()
    begun = {} if backbone is None else {"backbone": copy_backbone(network, backbone)}
    network.to(device, memory_format=torch.channels_last)
    encoder.to(device)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        rng = np.random.default_rng((course.seed, step))
        chosen = torch.randint(len(encoded.latents), (course.batch,), generator=random)
        texts = [
            "" if rng.random() < noising.empty else caption(encoded.shown[index], rng) for index in chosen.tolist()
        ]
        clean = encoded.latents[chosen].to(device, memory_format=torch.channels_last)
        times = torch.randint(1000, (course.batch,), generator=random).to(device)
        noise = torch.randn(clean.shape, generator=random).to(clean)
        return {"loss": loss_of(network, clean, states(tokenizer, encoder, texts), times, noise, noising)}

    about = {
        "size": size,
        "channels": list(denoiser.SIZES[size]),
        "scenes": scenes,
        "scaling": encoded.scaling,
        "autoencoder": (latents / "autoencoder.txt").read_text(),
        "text": mark,
        **begun,
        **asdict(noising),
    }
    return train(network, batch, course, out, about)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("latents", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=denoiser.SIZES, default="mini")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=24_000)
    parser.add_argument("--snapshots", type=int, nargs="*", default=(1_000, 2_000, 4_000), help="for mini-early")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--backbone", type=Path, help="denoiser whose weights to start from, but for cross-attention"
    )
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    snapshots = tuple(given.snapshots)
    course = Course(given.steps, given.batch, given.rate, given.seed, keep=0.9995, snapshots=snapshots)
    size, scenes = given.size, given.scenes
    run(given.data, given.latents, given.text, given.out, course, size, scenes, given.device, given.backbone)


if __name__ == "__main__":
    main()
