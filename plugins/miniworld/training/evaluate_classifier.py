"""Measure the mini-classifier on pictures it never saw: ``python evaluate_classifier.py DATA``.

DATA has pictures of one thing each, with the number of light paths that pictures of the simulator have:

    python training_data.py DATA --purpose classifier --split heldout --scenes 1500 --samples 16

Prints how often the most probable leaf is correct, overall, by leaf, kind and paint, and for degraded pictures;
the calibration of the probabilities; and the confusions.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import classifier
import numpy as np
import torch
from evaluate_segmenter import DEGRADED, share
from numpy.typing import NDArray
from PIL import Image
from t2i_core.api import Instance
from t2i_miniworld.annotations import leaf_of
from t2i_miniworld.vocabulary import LEAVES
from torch import nn
from training_data import load

#: Number of bins, the same as of the metric `calibration`.
BINS = 100
_BATCH = 100


@dataclass(frozen=True)
class Answers:
    """Answers: ``probabilities`` (N, K) over the leaves, and the correct ``labels`` (N,)."""

    probabilities: NDArray[np.float64]
    labels: NDArray[np.intp]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Return whether the most probable leaf is correct."""
        return np.asarray(self.probabilities.argmax(axis=1) == self.labels)

    def figures(self) -> dict[str, object]:
        """Return accuracy with Wilson's interval, mean confidence, and calibration error."""
        confidence = self.probabilities.max(axis=1)
        return {
            "accuracy": share(Counter(self.right.tolist())),
            "confidence": round(float(confidence.mean()), 4),
            "ece": round(calibration_error(confidence, self.right), 4),
        }


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error: mean |accuracy - mean confidence| over `BINS` bins of equal width."""
    bins = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    return float(np.abs(np.bincount(bins, right - confidence)).sum() / len(right))


@torch.no_grad()
def answer(network: nn.Module, pictures: list[Image.Image], labels: list[int]) -> Answers:
    """Classify pictures, preprocessed by timm according to the network's config."""
    logits = [
        network(classifier.prepared(network, pictures[start : start + _BATCH]))
        for start in range(0, len(pictures), _BATCH)
    ]
    return Answers(torch.cat(logits).double().softmax(dim=1).numpy(), np.array(labels))


def measure(network: nn.Module, images: NDArray[np.uint8], shown: list[Instance]) -> dict[str, object]:
    """Return all figures of the model card for pictures (N, S, S, 3) of one thing each."""
    labels = [classifier.LABELS.index(leaf_of(thing)) for thing in shown]
    figures: dict[str, object] = {}
    for name, change in DEGRADED.items():
        changed = [(change(image).clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy() for image in images]
        answers = answer(network, [Image.fromarray(one) for one in changed], labels)
        figures[name] = answers.figures() | (_details(answers, shown) if name == "as drawn" else {})
    return figures


def _details(answers: Answers, shown: list[Instance]) -> dict[str, object]:
    tables: dict[str, dict[str, Counter[bool]]] = defaultdict(lambda: defaultdict(Counter))
    mistaken: Counter[str] = Counter()
    for right, guess, thing in zip(answers.right, answers.probabilities.argmax(axis=1), shown, strict=True):
        leaf, taken = leaf_of(thing), classifier.LABELS[guess]
        tables["by leaf"][leaf][bool(right)] += 1
        tables["by paint"][thing.colour or "natural"][bool(right)] += 1
        tables["kind"][LEAVES[leaf]][LEAVES[taken] == LEAVES[leaf]] += 1
        if not right:
            mistaken[f"{leaf} for {taken}"] += 1
    kinds = tables.pop("kind")
    return {
        "kind right": share(sum(kinds.values(), Counter())),
        **{name: {key: share(count) for key, count in sorted(rows.items())} for name, rows in tables.items()},
        "mistaken": dict(mistaken.most_common()),
    }


def main() -> None:
    """Read the command line, measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, default=classifier.WEIGHTS)
    given = parser.parse_args()
    drawn = list(load(given.data, "heldout"))
    images = np.concatenate([one.images for one in drawn])
    shown = [truth.instances[0] for one in drawn for truth in one.truths]
    print(json.dumps(measure(classifier.load(given.model), images, shown), indent=2))


if __name__ == "__main__":
    main()
