"""Train `mini-clip`'s pictures: ``python -m t2i_miniworld.train_clip DATA TEXT OUT``; the same command goes on.

TEXT is a folder of `train_text`, whose texts and scenes stay where they are. A picture learns to be where its
scene is, and which texts of the batch are true of it. That the features say what stands where is trained beside
it, for a vector alone teaches a network slowly which pixels it is about.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from t2i_core import Truth
from t2i_core.models.training import Course, load_average, train
from torch import Tensor, nn
from transformers import CLIPTokenizer

from t2i_miniworld import train_text
from t2i_miniworld.annotations import leaf_of
from t2i_miniworld.augment import degrade
from t2i_miniworld.clip import POOL, TRUNK, Clip, TextSide
from t2i_miniworld.latents import digest
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.pictures import Pictures
from t2i_miniworld.train_text import fit_of, ideal, texts_of, tokens, truths_of
from t2i_miniworld.vocabulary import LEAVES

#: Cells of a picture's grid, along each side: where the trunk's third stage has features of.
CELLS = 8
_KINDS, _LOOKS = tuple(LEAVES), (None, *PAINTS)


class Learning(nn.Module):
    """The network, and the layer that reads what stands in each cell from features midway through its trunk."""

    def __init__(self, network: Clip) -> None:
        super().__init__()
        self.clip = network
        stage = network.visual.trunk.stages[2]
        stage.register_forward_hook(self._keep)
        width = stage.blocks[-1].conv_dw.in_channels
        self.cells = nn.Conv2d(width, 1 + len(LEAVES) + len(_LOOKS), 1)
        self._midway = torch.empty(0)

    def _keep(self, _module: nn.Module, _given: object, features: Tensor) -> None:
        self._midway = features

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (N, D) of pictures (N, 3, S, S), 0 to 1, and logits (N, 1 + leaves + looks, cells, cells)."""
        vectors = self.clip.images(pictures)
        return vectors, self.cells(self._midway)


def cells_of(truth: Truth) -> Tensor:
    """How much of each cell is ground, each leaf, and each look (1 + leaves + looks, cells, cells), 0 to 1."""
    found = torch.zeros(1 + len(LEAVES) + len(_LOOKS), CELLS, CELLS)
    for one in truth.instances:
        mask = torch.from_numpy(one.mask.unpack()).float()
        share = nn.functional.adaptive_avg_pool2d(mask[None, None], CELLS)[0, 0]
        found[1 + _KINDS.index(leaf_of(one))] += share
        found[1 + len(LEAVES) + _LOOKS.index(one.colour)] += share
    found[0] = 1 - found[1 : 1 + len(LEAVES)].sum(dim=0)
    return found


def cells_loss(logits: Tensor, true: Tensor) -> Tensor:
    """Cross-entropy of what stands in cells, and of the looks where something stands."""
    split = (1 + len(LEAVES), len(_LOOKS))
    (kinds, looks), (true_kinds, true_looks) = logits.split(split, dim=1), true.split(split, dim=1)
    kind = -(true_kinds * kinds.log_softmax(dim=1)).sum(dim=1).mean()
    look = -(true_looks * looks.log_softmax(dim=1)).sum() / true_looks.sum().clamp(min=1)
    return kind + look / 4


def trained(folder: Path) -> tuple[CLIPTokenizer, Clip]:
    """Tokenizer and averaged network of a training folder."""
    tokenizer = CLIPTokenizer.from_pretrained(folder / "tokenizer")
    network: Learning = load_average(Learning(Clip(TextSide(tokenizer))), folder)
    return tokenizer, network.clip


def run(data: Path, text: Path, out: Path, course: Course, scenes: int, device: str = "cpu") -> nn.Module:
    """Train on the first ``scenes`` pictures; return the averaged network with what reads its cells."""
    pictures = Pictures(data, "train", scenes)
    tokenizer, told = train_text.trained(text)
    tokenizer.save_pretrained(out / "tokenizer")
    said = ideal(pictures.truths)
    torch.manual_seed(course.seed)
    network = Learning(Clip(told)).train().to(device)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        rng = np.random.default_rng((course.seed, step))
        chosen = torch.randint(len(pictures), (course.batch,), generator=random)
        truths = [pictures.truths[index] for index in chosen.tolist()]
        shown = [truth.instances for truth in truths]
        texts = texts_of(shown, rng)
        views = pictures.images[chosen].float() / 255
        # Half of them as a small diffusion model's pictures may be: unsharp, noisy, off in colour.
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

    about = {"scenes": scenes, "text": digest(told), "trunk": TRUNK, "pool": POOL}
    return train(network, batch, course, out, about)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
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
    run(given.data, given.text, given.out, course, given.scenes, given.device)


if __name__ == "__main__":
    main()
