"""Calibrate the confidence of `mini-detector`: ``python .../training/calibrate_detector.py SCENES OUT MODEL``.

The detector is trained to predict how well a box fits (varifocal loss), which is lower than the probability that
the detection is right; PaintSkills' thresholds are such probabilities. Platt's scaling (1999) fits a logistic
curve from the score's logit to correctness, on scenes that are used for nothing else, and is merged into the layer
that scores classes. It does not change the order of detections.

    python training_data.py SCENES --purpose detector --split calibration --scenes 500 --samples 16
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import detector
import numpy as np
from evaluate_detector import answers, are_right
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_expit, logit
from t2i_torch_support.training import load_average
from t2i_transformers.coloured_network import Coloured
from train_detector import DetectorLearner, pack
from training_data import load


def fitted(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and shift of the scores' logits that calibrate detections (maximum likelihood)."""
    signs, logits = np.where(right, 1.0, -1.0), logit(scores)

    def loss(line: NDArray[np.float64]) -> float:
        return -float(log_expit(signs * (line[0] * logits + line[1])).mean())

    slope, shift = minimize(loss, [1.0, 0.0]).x
    return float(slope), float(shift)


def scale(network: Coloured, slope: float, shift: float) -> None:
    """Merge slope and shift into the layer of the classes' logits."""
    last = network.network.model.decoder.class_embed[-1]
    last.weight.data.mul_(slope)
    last.bias.data.mul_(slope).add_(shift)


def main() -> None:
    """Fit on the split `calibration`, write the calibrated detector, and print slope and shift."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("trained", type=Path, help="folder of train_detector")
    parser.add_argument("out", type=Path)
    parser.add_argument("--snapshot", type=int, help="weights after this step")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        pack(given.trained, Path(place), given.snapshot)
        found = list(answers(Path(place), list(load(given.scenes, "calibration")), "cpu"))
    scores = np.concatenate([one.scores for one, _ in found]).astype(np.float64)
    right = np.concatenate([are_right(one, truth) for one, truth in found])
    slope, shift = fitted(scores, right)
    learning: DetectorLearner = load_average(DetectorLearner(None), given.trained, given.snapshot)
    scale(learning.coloured, slope, shift)
    learning.coloured.save(detector.processor(), given.out, half=True)
    print(f"{len(right)} detections, {right.mean():.4f} right: logit' = {slope:.4f} logit + {shift:.4f}")


if __name__ == "__main__":
    main()
