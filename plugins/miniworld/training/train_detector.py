"""Train `mini-detector`: ``python plugins/miniworld/training/train_detector.py SCENES... OUT``.

Each SCENES is a folder of training_data.py, made for the detector or the generator. Half of the
pictures are mirrored, and half are degraded, as by a file format or a small diffusion model. An auxiliary loss
trains the trunk's features to predict the content of each cell, because the detector alone learns slowly. The same
command resumes. At the end OUT/model has the averaged weights in half precision: `--judge
coloured-detector:OUT/model`.

This script is not part of a plugin, because it uses two: pictures of t2i-miniworld; head, loss and judge of
t2i-transformers.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import classifier
import detector
import torch
from augment import degrade
from cells import GROUPS, cells_loss, cells_of
from t2i_core.api import Truth
from t2i_torch_support.training import Course, load_average, train
from t2i_transformers.coloured_network import Coloured
from torch import Tensor, nn
from train_classifier import read

KINDS = {one.synset: number for number, one in enumerate(detector.CLASSES)}
#: Index of the trunk's features with the number of cells of `cells_of`, and their number of channels.
_MIDWAY, _LAYERS = 1, 48


class DetectorLearner(nn.Module):
    """The detector, and a layer that predicts the content of each cell from features midway through the trunk."""

    def __init__(self, start: Path | None = classifier.WEIGHTS) -> None:
        super().__init__()
        self.coloured = Coloured(detector.build(start), detector.CLASSES, detector.COLOURS)
        self.cells = nn.Conv2d(_LAYERS, sum(GROUPS), 1)
        self._midway = torch.empty(0)
        self.coloured.network.model.backbone.register_forward_hook(self._keep)

    def _keep(self, _module: nn.Module, _given: object, features: Sequence[tuple[Tensor, Tensor]]) -> None:
        self._midway = features[_MIDWAY][0]

    def losses(self, pictures: Tensor, truths: Sequence[Truth], mirrored: Sequence[bool]) -> dict[str, Tensor]:
        """Return the loss and its parts for pictures (N, 3, SIDE, SIDE), 0 to 1, some of them mirrored."""
        labels = [labels_of(truth, flip) for truth, flip in zip(truths, mirrored, strict=True)]
        labels = [{name: value.to(pictures.device) for name, value in one.items()} for one in labels]
        found = self.coloured.losses(detector.seen(pictures), labels)
        true = [cells_of(truth) for truth in truths]
        true = [cells.flip(-1) if flip else cells for cells, flip in zip(true, mirrored, strict=True)]
        placed = cells_loss(self.cells(self._midway), torch.stack(true).to(pictures.device))
        return {**found, "loss": found["loss"] + placed, "cells": placed}


def labels_of(truth: Truth, mirrored: bool) -> dict[str, Tensor]:
    """Return the labels of a picture, mirrored or not, for `Coloured`; a thing without paint is natural."""
    width, height = truth.size
    x0, y0, x1, y1 = torch.tensor([one.box for one in truth.instances], dtype=torch.float32).T
    x0, x1, y0, y1 = x0 / width, x1 / width, y0 / height, y1 / height
    if mirrored:
        x0, x1 = 1 - x1, 1 - x0
    colours = [detector.COLOURS.index(one.colour or detector.NATURAL) for one in truth.instances]
    return {
        "boxes": torch.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], dim=1),
        "class_labels": torch.tensor([KINDS[one.cls.synset] for one in truth.instances]),
        "colours": torch.tensor(colours),
    }


def run(folders: list[Path], out: Path, course: Course, most: int, device: str = "cpu") -> Coloured:
    """Train on a maximum number of pictures of each folder; return the averaged detector."""
    images, truths = read(folders, most)
    torch.manual_seed(course.seed)
    network = DetectorLearner().train().to(device)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        torch.manual_seed(int(torch.randint(2**62, (), generator=random)))  # noise of denoising queries
        chosen = torch.randint(len(images), (course.batch,), generator=random)
        mirrored = torch.rand(course.batch, generator=random) < 0.5
        views = images[chosen].float() / 255
        views[mirrored] = views[mirrored].flip(-1)
        changed = torch.rand(course.batch, generator=random) < 0.5
        views[changed] = degrade(views[changed], random)
        return network.losses(views.to(device), [truths[n] for n in chosen.tolist()], mirrored.tolist())

    train(network, batch, course, out, {"pictures": len(images), "folders": len(folders)})
    return pack(out, out / "model")


def pack(out: Path, folder: Path, snapshot: int | None = None) -> Coloured:
    """Write the weights of a training, or of its ``snapshot``, for the judge, in half precision."""
    learning: DetectorLearner = load_average(DetectorLearner(None), out, snapshot)
    learning.coloured.save(detector.processor(), folder, half=True)
    return learning.coloured


def main() -> None:
    """Read the command line, and train or pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path, nargs="*")
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=int, default=16_000, help="maximum number from each folder")
    parser.add_argument(
        "--snapshots", type=int, nargs="*", default=[], help="further steps whose averages to keep"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="do not train; write OUT's weights there")
    parser.add_argument("--snapshot", type=int, help="for --pack: weights after this step")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.pack is not None:
        pack(given.out, given.pack, given.snapshot)
        return
    if not given.scenes:
        parser.error("no SCENES; draw some with python training_data.py FOLDER --purpose detector")
    course = Course(given.steps, given.batch, given.rate, given.seed, decay=0.05, snapshots=tuple(given.snapshots))
    run(given.scenes, given.out, course, given.pictures, given.device)


if __name__ == "__main__":
    main()
