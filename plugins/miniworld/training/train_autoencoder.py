"""Train the autoencoder of `mini`: ``python plugins/miniworld/training/train_autoencoder.py DATA OUT``.

DATA contains the generator's shards of `training_data`; more may be added during the training. The same command
resumes from the checkpoint in OUT.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

import autoencoder
import torch
from diffusers import AutoencoderKL
from pictures import Pictures
from t2i_core.api import Truth
from t2i_torch_support.training import CHECKPOINT, Course, train
from torch import Tensor, nn

#: Side of the crops on which every other step trains, in pixels.
CROP = 64

#: Weights of red, green and blue for brightness, red minus green, and yellow minus blue, in which the loss
#: measures differences. In RGB almost all differences are brightness, so a small network would learn colours late.
OPPONENTS = ((0.5, 0.5, 0.5), (1.0, -1.0, 0.0), (0.5, 0.5, -1.0))


@dataclass(frozen=True)
class Weighing:
    """Weights of the parts of the loss.

    Attributes:
        background: Weight of a background pixel; a pixel of a thing has 1.
        edges: Weight of differences between neighbouring pixels.
        coarse: Weight of the picture at half and at a quarter of its size.
        kl: Weight of the divergence of the latents from a standard normal, per number.
    """

    background: float = 0.35
    edges: float = 0.5
    coarse: float = 0.5
    kl: float = 2e-4


def losses(
    network: AutoencoderKL, pictures: Tensor, things: Tensor, weighing: Weighing, random: torch.Generator
) -> dict[str, Tensor]:
    """Return all parts of the loss.

    Pixels are compared by absolute differences, which keep edges and ignore the renderer's noise.

    Args:
        network: The autoencoder.
        pictures: Pictures (N, 3, S, S), -1 to 1.
        things: Mask of things (N, 1, S, S), 0 or 1.
        weighing: Weights of the parts.
        random: Source of randomness for the latents.
    """
    latents = network.encode(pictures).latent_dist
    drawn = network.decode(latents.sample(generator=random)).sample
    weights = weighing.background + (1 - weighing.background) * things
    weights = weights / weights.mean()
    apart = torch.einsum("oc,nchw->nohw", pictures.new_tensor(OPPONENTS), drawn - pictures)
    pixels = (apart.abs() * weights).mean()
    edges = sum(
        (apart.diff(dim=dim).abs() * weights.narrow(dim, 1, weights.shape[dim] - 1)).mean() for dim in (-1, -2)
    )
    coarse = pictures.new_zeros(())
    for factor in (2, 4):
        weighed = nn.functional.avg_pool2d(apart, factor).abs() * nn.functional.avg_pool2d(weights, factor)
        coarse = coarse + weighed.mean()
    kl = 0.5 * (latents.mean**2 + latents.var - 1 - latents.logvar).mean()
    loss = pixels + weighing.edges * edges + weighing.coarse * coarse + weighing.kl * kl
    return {"loss": loss, "pixels": pixels, "edges": edges, "coarse": coarse, "kl": kl}


def run(
    data: Path, out: Path, course: Course, channels: tuple[int, ...], scenes: int, device: str = "cpu"
) -> nn.Module:
    """Train on the first ``scenes`` pictures, mirrored half of the time; return the averaged network.

    A batch has ``course.batch`` whole pictures, or the same number of pixels in crops.
    """
    pictures, weighing = Pictures(data, "train", scenes), Weighing()
    torch.manual_seed(course.seed)
    network = autoencoder.build(channels).train()
    autoencoder.begin_with_colours(network)
    network.to(device, memory_format=torch.channels_last)
    side = pictures.images.shape[-1]

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        if step % CHECKPOINT == 0:
            pictures.refresh()
        # Whole pictures are mostly background, so every other step uses crops around things.
        parts = step % 2 == 1
        count = course.batch * (side // CROP) ** 2 if parts else course.batch
        chosen = torch.randint(len(pictures), (count,), generator=random)
        images, things = pictures.images[chosen].float() / 127.5 - 1, pictures.things(chosen)
        if parts:
            both = torch.cat([images, things], dim=1)
            corners = [_corner(pictures.truths[index], random) for index in chosen.tolist()]
            both = torch.stack(
                [one[:, y : y + CROP, x : x + CROP] for one, (x, y) in zip(both, corners, strict=True)]
            )
            images, things = both[:, :3], both[:, 3:]
        mirrored = torch.rand(count, 1, 1, 1, generator=random) < 0.5
        images, things = (torch.where(mirrored, x.flip(-1), x) for x in (images, things))
        images = images.to(device, memory_format=torch.channels_last)
        found = losses(network, images, things.to(device), weighing, random)
        return {**found, "scenes": torch.tensor(float(len(pictures)))}

    about = {"channels": list(channels), "scenes": scenes, **asdict(weighing)}
    return train(network, batch, course, out, about)


def _corner(truth: Truth, random: torch.Generator) -> tuple[int, int]:
    """Return the upper left corner (x, y) of a crop around one of the picture's things."""
    which, x_off, y_off = torch.rand(3, generator=random).tolist()
    x0, y0, x1, y1 = truth.instances[int(which * len(truth.instances))].box
    x, y = ((low + high) / 2 - CROP * (0.25 + 0.5 * off) for low, high, off in ((x0, x1, x_off), (y0, y1, y_off)))
    width, height = truth.size
    return min(max(0, int(x)), width - CROP), min(max(0, int(y)), height - CROP)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=24_000)
    parser.add_argument("--channels", type=int, nargs="+", default=(24, 32, 64, 96))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    course = Course(given.steps, given.batch, given.rate, given.seed)
    run(given.data, given.out, course, tuple(given.channels), given.scenes, given.device)


if __name__ == "__main__":
    main()
