"""Make `mini-detector`'s confidence a probability: ``python .../training/calibrate_detector.py SCENES OUT MODEL``.

The detector is trained to say how well a box fits (varifocal loss), which is less than how surely it is right; the
thresholds of PaintSkills are of the latter. Platt's scaling (1999): a logistic curve from the score's logit to
whether the detection is right, fitted on scenes that nothing else was trained on or is measured on, and put into
the layer that scores classes. It changes no order, only how sure is how sure.

    python -m t2i_miniworld.training_data SCENES --purpose detector --split calibration --scenes 500 --samples 16
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from evaluate_detector import answers, are_right
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_expit, logit
from t2i_miniworld import detector
from t2i_miniworld.training_data import load
from t2i_torch_support.training import load_average
from t2i_transformers.coloured_network import Coloured
from train_detector import DetectorLearner, pack


def fitted(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and shift of scores' logits under which detections are right as often as said (maximum likelihood)."""
    signs, logits = np.where(right, 1.0, -1.0), logit(scores)

    def loss(line: NDArray[np.float64]) -> float:
        return -float(log_expit(signs * (line[0] * logits + line[1])).mean())

    slope, shift = minimize(loss, [1.0, 0.0]).x
    return float(slope), float(shift)


def scale(network: Coloured, slope: float, shift: float) -> None:
    """Put the line into the layer that says the classes' logits."""
    last = network.network.model.decoder.class_embed[-1]
    last.weight.data.mul_(slope)
    last.bias.data.mul_(slope).add_(shift)


def main() -> None:
    """Read the command line, fit on the split `calibration`, write the detector anew, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("trained", type=Path, help="the folder of train_detector")
    parser.add_argument("out", type=Path)
    parser.add_argument("--snapshot", type=int, help="the weights as they were after this step")
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
