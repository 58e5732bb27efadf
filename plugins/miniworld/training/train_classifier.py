"""Train the mini-classifier: ``python plugins/miniworld/training/train_classifier.py OUT DATA...``.

Each DATA is a folder of `training_data`, made for the generator or the classifier. All leaves are equally
frequent: views are whole pictures of a single thing, and square crops around one thing of any picture. Two of
three views are degraded, as by a file format or a small diffusion model. The same command resumes; at the end
OUT/model has the averaged weights.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import classifier
import numpy as np
import torch
from augment import degrade
from t2i_core.api import Truth
from t2i_torch_support.training import Course, train
from torch import Tensor, nn
from training_data import load
from views import Things, cut

#: Share of the views that are not degraded.
_CLEAN = 0.35


def read(folders: list[Path], most: int) -> tuple[Tensor, list[Truth]]:
    """Return at most the first ``most`` pictures of each folder (N, 3, S, S), uint8, and their ground truth."""
    drawn = [one for folder in folders for one in load(folder, "train", most)]
    images = np.concatenate([one.images for one in drawn])
    return torch.from_numpy(images).permute(0, 3, 1, 2), [truth for one in drawn for truth in one.truths]


def run(out: Path, folders: list[Path], course: Course, most: int) -> nn.Module:
    """Train on at most ``most`` pictures of each folder; return the averaged network."""
    images, truths = read(folders, most)
    things = Things(truths, classifier.LABELS)
    torch.manual_seed(course.seed)
    # This memory format doubles the speed, because most convolutions are depthwise.
    network = classifier.build().train().to(memory_format=torch.channels_last)

    def batch(step: int, random: torch.Generator) -> dict[str, Tensor]:
        rng = np.random.default_rng((course.seed, step))
        labels = torch.randint(len(classifier.LABELS), (course.batch,), generator=random)
        views = [things.draw(classifier.LABELS[label], rng) for label in labels.tolist()]
        pieces = cut(images[[view.picture for view in views]].float() / 255, views, random)
        changed = torch.rand(course.batch, generator=random) >= _CLEAN
        pieces[changed] = degrade(pieces[changed], random)
        logits = network(classifier.seen(pieces).contiguous(memory_format=torch.channels_last))
        right = (logits.argmax(dim=1) == labels).float().mean()
        return {"loss": nn.functional.cross_entropy(logits, labels), "right": right}

    about = {"architecture": classifier.ARCHITECTURE, "side": classifier.SIDE, "pictures": len(images)}
    average = train(network, batch, course, out, about)
    classifier.save(average, out / "model")
    return average


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=int, default=16_000, help="maximum number from each folder")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    course = Course(given.steps, given.batch, given.rate, given.seed, decay=0.05, keep=0.998)
    run(given.out, given.data, course, given.pictures)


if __name__ == "__main__":
    main()
