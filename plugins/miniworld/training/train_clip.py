"""Train the image tower of `mini-clip`: ``python plugins/miniworld/training/train_clip.py DATA... TEXT OUT``.

TEXT is a folder of `train_text`; its text tower is frozen. The image tower is initialised with the
mini-classifier. It learns to map each picture to the vector of its scene, and which texts of the batch are true of
it. An auxiliary loss trains its features to predict the content of each cell, because a single vector teaches
slowly which pixels matter. The same command resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import classifier
import numpy as np
import torch
import train_text
from augment import degrade
from cells import GROUPS, cells_loss, cells_of
from latents import digest
from mini_clip import TRUNK, Clip, TextSide
from t2i_torch_support.training import Course, load_average, train
from torch import Tensor, nn
from train_classifier import read
from train_text import fit_of, ideal, texts_of, tokens, truths_of
from transformers import CLIPTokenizer

#: Block of the trunk whose map has the same number of cells as `cells_of`, and its number of channels.
_MIDWAY, _CHANNELS = 3, 48


class ClipLearner(nn.Module):
    """The network, and a layer that predicts the content of each cell from features midway through the trunk."""

    def __init__(self, network: Clip) -> None:
        super().__init__()
        self.clip = network
        network.visual.trunk.blocks[_MIDWAY].register_forward_hook(self._keep)
        self.cells = nn.Conv2d(_CHANNELS, sum(GROUPS), 1)
        self._midway = torch.empty(0)

    def _keep(self, _module: nn.Module, _given: object, features: Tensor) -> None:
        self._midway = features

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors (N, D) of pictures (N, 3, S, S), 0 to 1, and logits of the cells (`cells_of`)."""
        vectors = self.clip.images(pictures)
        return vectors, self.cells(self._midway)


def trained(folder: Path) -> tuple[CLIPTokenizer, Clip]:
    """Load tokenizer and averaged network from a training folder."""
    tokenizer = CLIPTokenizer.from_pretrained(folder / "tokenizer")
    network: ClipLearner = load_average(ClipLearner(Clip(TextSide(tokenizer))), folder)
    return tokenizer, network.clip


def begin_as_classifier(clip: Clip) -> None:
    """Copy all weights of the mini-classifier except its last layer to the image tower."""
    trunk = clip.visual.trunk
    last = {name: value for name, value in trunk.state_dict().items() if name.startswith("classifier.")}
    trunk.load_state_dict({**classifier.load().state_dict(), **last})


def run(
    data: list[Path],
    text: Path,
    out: Path,
    course: Course,
    scenes: int,
    device: str = "cpu",
) -> nn.Module:
    """Train on the first ``scenes`` pictures of each folder; return the averaged network with the cells' layer."""
    images, all_truths = read(data, scenes)
    tokenizer, told = train_text.trained(text)
    tokenizer.save_pretrained(out / "tokenizer")
    said = ideal(all_truths)
    torch.manual_seed(course.seed)
    clip = Clip(told)
    begin_as_classifier(clip)
    # the memory format in which convolutions are fastest
    network = ClipLearner(clip).train().to(device).to(memory_format=torch.channels_last)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        rng = np.random.default_rng((course.seed, step))
        chosen = torch.randint(len(images), (course.batch,), generator=random)
        truths = [all_truths[index] for index in chosen.tolist()]
        shown = [truth.instances for truth in truths]
        texts = texts_of(shown, rng)
        views = (images[chosen].float() / 255).contiguous(memory_format=torch.channels_last)
        # Degrade half of them like a small diffusion model's pictures: unsharp, noisy, wrong in colour.
        views[: course.batch // 2] = degrade(views[: course.batch // 2], random)
        vectors, cells = network(views.to(device))
        with torch.no_grad():
            wanted = told.scenes(said[chosen].float().to(device))
            texts_at = told.texts(tokens(tokenizer, texts).to(device))
        found = fit_of(told.logits(vectors, texts_at), truths_of(shown, texts).to(device))
        apart = 1 - (vectors * wanted).sum(dim=1).mean()
        placed = cells_loss(cells, torch.stack([cells_of(truth) for truth in truths]).to(device))
        parts = {"texts": found["loss"], "apart": apart, "cells": placed, "best_is_true": found["best_is_true"]}
        return {"loss": found["loss"] / 10 + 4 * apart + placed, **parts}

    about = {
        "scenes": len(images),
        "start": digest(clip.visual),
        "text": digest(told),
        "trunk": TRUNK,
    }
    return train(network, batch, course, out, about)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=16_500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    course = Course(given.steps, given.batch, given.rate, given.seed, decay=0.05)
    run(given.data, given.text, given.out, course, given.scenes, device=given.device)


if __name__ == "__main__":
    main()
