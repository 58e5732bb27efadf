"""Time and memory of precision, recall, density and coverage, beside the published code.

    python plugins/torchmetrics/benchmarks/neighbourhoods.py [--images 10000] [--dimensions 1024] [--rounds 3]

Each round computes the four scores of normal features twice, in new processes that take turns: with t2i, and, if
it is installed (`pip install prdc`), with the authors' package. Prints the median seconds, the peak memory and the
scores of each. Run it on a machine without other work.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from t2i_torchmetrics.neighbourhoods import find_radii, score_images

K = 5
"""The neighbour whose distance is the radius."""


def draw_features(images: int, dimensions: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return features of reference and generated images, which overlap, shape (images, dimensions) each."""
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(16, dimensions))  # the features' own dimension is far lower, as that of images
    reference, generated = (rng.normal(size=(images, 16)) for _ in range(2))
    return reference @ spread, (0.9 * generated + 0.2) @ spread


def measure(which: str, images: int, dimensions: int) -> dict[str, Any]:
    """Return seconds, peak memory in MB, and the scores."""
    reference, generated = draw_features(images, dimensions)
    started = time.perf_counter()
    if which == "t2i":
        scores: Any = score_images(reference, find_radii(reference, K), generated, K)._asdict()
    else:
        from prdc import compute_prdc

        scores = compute_prdc(reference, generated, K)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "MB": memory, **{name: float(value) for name, value in scores.items()}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=10_000, help="images of each set")
    parser.add_argument("--dimensions", type=int, default=1024, help="length of a feature vector")
    parser.add_argument("--rounds", type=int, default=3, help="rounds")
    parser.add_argument("--only", choices=("t2i", "prdc"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.only, given.images, given.dimensions)))
        return
    both = ("t2i", "prdc") if importlib.util.find_spec("prdc") else ("t2i",)
    size = ["--images", str(given.images), "--dimensions", str(given.dimensions)]
    found: dict[str, list[dict[str, Any]]] = {which: [] for which in both}
    for _ in range(given.rounds):
        for which in both:
            command = [sys.executable, __file__, "--only", which, *size]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[which].append(json.loads(done.stdout.splitlines()[-1]))
    for which, rounds in found.items():
        medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
        print(which, {name: round(value, 4) for name, value in medians.items()})


if __name__ == "__main__":
    main()
