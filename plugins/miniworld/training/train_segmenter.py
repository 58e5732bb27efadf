"""Train the mini-segmenter: ``python plugins/miniworld/training/train_segmenter.py DATA OUT --steps N``.

DATA contains the shards of `training_data`. Every few hundred steps a checkpoint is written to OUT, from which the
same command resumes. At the end OUT/model has the averaged weights (safetensors, half precision).
"""

from __future__ import annotations

import argparse
import copy
import csv
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import training_data
from augment import augment
from loky import cpu_count
from t2i_miniworld import segmenter
from t2i_torch_support.training import update_average
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn

#: Weight in the loss of background pixels more than `_NEAR` pixels away from all things, which are many and easy.
#: Pixels between two things have full weight, because they separate two things of one class.
_BACKGROUND, _NEAR = 0.3, 4
_EVERY = 250


@dataclass(frozen=True)
class Settings:
    """Settings of a training.

    Attributes:
        steps: Number of batches.
        batch: Pictures per batch.
        rate: Maximum learning rate.
        seed: Seed of weights and batches.
        start: Folder of weights whose encoder to start from; None for random weights.
        processes: Number of processes with one thread each that share a batch. For such a small network this is
            faster than threads in one process, above all on a busy machine.
    """

    steps: int
    batch: int
    rate: float
    seed: int
    start: Path | None
    processes: int


def train(data: Path, out: Path, settings: Settings) -> None:
    """Train with AdamW, one cosine cycle, and averaged weights."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        meeting = f"file://{folder}/meeting"
        spawn(_train, (data, out, settings, meeting), nprocs=settings.processes, join=True)


def _train(rank: int, data: Path, out: Path, settings: Settings, meeting: str) -> None:
    """Run one process of the training; the first one writes average, log and checkpoints."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=settings.processes)
    steps, batch = settings.steps, settings.batch // settings.processes
    torch.manual_seed(settings.seed)
    network = segmenter.build().train()
    if settings.start is not None:
        network.segformer.load_state_dict(segmenter.load(settings.start).segformer.state_dict())
    average = copy.deepcopy(network).eval()
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=0.02)
    checkpoint, start = out / "checkpoint.pt", 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
        start = state["step"]
    shared = nn.parallel.DistributedDataParallel(network)
    images, labels = _load(data)
    begun, losses = time.monotonic(), []
    for step in range(start, steps):
        # The stream depends only on step and process, so a resumed run uses the same batches.
        random = torch.Generator().manual_seed((settings.seed * 1_000_003 + step) * settings.processes + rank)
        if step % _EVERY == 0 and step > start:
            # New shards may exist now.
            images, labels = _load(data, images, labels)
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * _schedule(step, steps)
        chosen = torch.randint(len(images), (batch,), generator=random)
        pictures, targets = augment(images[chosen].float() / 255, labels[chosen].long(), random)
        loss = _loss(shared, segmenter.normalised(pictures), targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if rank > 0:
            continue
        update_average(average, network, min(0.998, (step + 1) / (step + 10)))
        losses.append(float(loss.detach()))
        if (step + 1) % 50 == 0 or step + 1 == steps:
            speed = (step + 1 - start) * settings.batch / (time.monotonic() - begun)
            _log(out / "log.csv", step + 1, losses, len(images), speed)
            losses = []
        if (step + 1) % _EVERY == 0 or step + 1 == steps:
            state = {"network": network.state_dict(), "average": average.state_dict()}
            torch.save({**state, "optimiser": optimiser.state_dict(), "step": step + 1}, out / "checkpoint.part")
            (out / "checkpoint.part").rename(checkpoint)
    if rank == 0:
        average.half().save_pretrained(out / "model")
    torch.distributed.destroy_process_group()


def _loss(network: nn.Module, pictures: Tensor, targets: Tensor) -> Tensor:
    logits = network(pixel_values=pictures).logits
    full = nn.functional.interpolate(logits, targets.shape[-2:], mode="bilinear", align_corners=False)
    thing = (targets > 0).float()[:, None]
    near = nn.functional.max_pool2d(thing, 2 * _NEAR + 1, stride=1, padding=_NEAR)[:, 0]
    weights = _BACKGROUND + (1 - _BACKGROUND) * near
    return (nn.functional.cross_entropy(full, targets, reduction="none") * weights).sum() / weights.sum()


def _schedule(step: int, steps: int) -> float:
    warm = min(1.0, (step + 1) / 200)
    return warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def _load(data: Path, images: Tensor | None = None, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return all training images (N, 3, H, W) and labels (N, H, W), uint8; the given ones if no shard is new."""
    paths = training_data.shards(data, "train")
    if not paths:
        raise SystemExit(
            f"{data}: no training shards; draw some with python plugins/miniworld/training/training_data.py"
        )
    if images is not None and labels is not None and len(images) == len(paths) * training_data.PER_SHARD:
        return images, labels
    pictures, named = [], []
    for shard in map(training_data.read_shard, paths):
        pictures.append(torch.from_numpy(shard.images).permute(0, 3, 1, 2))
        named.append(torch.from_numpy(np.stack([training_data.labels(truth) for truth in shard.truths])))
    return torch.cat(pictures), torch.cat(named)


def _log(path: Path, step: int, losses: list[float], scenes: int, speed: float) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["step", "loss", "scenes", "images_per_s"])
        writer.writerow([step, f"{np.mean(losses):.5f}", scenes, f"{speed:.1f}"])
    print(f"step {step}: loss {np.mean(losses):.4f}, {scenes} scenes, {speed:.1f} images/s", flush=True)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="folder of trained weights whose encoder to start from")
    parser.add_argument("--processes", type=int, default=cpu_count())
    given = vars(parser.parse_args())
    train(given.pop("data"), given.pop("out"), Settings(**given))


if __name__ == "__main__":
    main()
