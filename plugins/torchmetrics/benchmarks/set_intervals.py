"""Coverage of the block jackknife for scores of sets, by simulation.

    python plugins/torchmetrics/benchmarks/set_intervals.py [--sets 1000] [--images 400]

Features are normal, generated ones with another mean and spread than those of the reference, which is the same for
all sets. The truth of a score is its expected value for that many images, the mean over all simulated sets. Prints
a line of a Markdown table for each score: its mean and spread over sets, the share of intervals that hold the
truth, and their mean width over the width that the spread calls for.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from t2i_core.statistics import block_jackknife
from t2i_torchmetrics.cmmd import normalise, sum_kernel
from t2i_torchmetrics.fid import Gaussian, frechet_distance
from t2i_torchmetrics.kid import discrepancy
from t2i_torchmetrics.neighbourhoods import find_neighbourhoods, find_radii
from t2i_torchmetrics.vendi import vendi_score

Floats = NDArray[np.float64]

DIMENSIONS, BLOCKS, K = 16, 20, 5


class Scorer:
    """Scores of generated features against one reference.

    Args:
        reference: Features of the reference images, shape (n, d).
    """

    def __init__(self, reference: Floats) -> None:
        self.reference, self.radii = reference, find_radii(reference, K)
        self.gaussian = Gaussian.of(reference)
        self.unit = normalise(reference)

    def score(self, generated: Floats, kept: list[NDArray[np.bool_]]) -> dict[str, list[float]]:
        """Return each score of several subsets of the generated images."""
        found: dict[str, list[float]] = {}
        near = find_neighbourhoods(self.reference, self.radii, generated, K)
        assert near is not None
        for own in kept:
            prdc = near.score(own)
            assert prdc is not None
            vectors = generated[own]
            scores = {
                "fid": frechet_distance(Gaussian.of(vectors), self.gaussian),
                "kid": discrepancy(vectors, self.reference),
                "cmmd": self._find_cmmd(vectors),
                "vendi": vendi_score(vectors),
                **prdc._asdict(),
            }
            for name, value in scores.items():
                found.setdefault(name, []).append(float(value))
        return found

    def _find_cmmd(self, vectors: Floats, sigma: float = 1.0) -> float:
        own = normalise(vectors)
        within, between, beyond = (
            sum_kernel(a, b, sigma).sum() / (len(a) * len(b))
            for a, b in ((own, own), (own, self.unit), (self.unit, self.unit))
        )
        return float(1000 * (within + beyond - 2 * between))


def simulate(sets: int, images: int) -> dict[str, list[list[float]]]:
    """Return for each score its values of each set: of the whole set, then without each block."""
    rng = np.random.default_rng(0)
    scorer = Scorer(rng.normal(size=(images, DIMENSIONS)))
    blocks = np.arange(images) % BLOCKS
    kept = [np.ones(images, bool), *(blocks != block for block in range(BLOCKS))]
    found: dict[str, list[list[float]]] = {}
    for _ in range(sets):
        generated = 0.9 * rng.normal(size=(images, DIMENSIONS)) + 0.2
        for name, values in scorer.score(generated, kept).items():
            found.setdefault(name, []).append(values)
    return found


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="number of simulated sets")
    parser.add_argument("--images", type=int, default=400, help="images of each set and of the reference")
    given = parser.parse_args()
    print("| score | mean | sd | coverage | width over what the spread calls for |\n|---|---|---|---|---|")
    for name, sets in simulate(given.sets, given.images).items():
        whole = np.array([values[0] for values in sets])
        ends = [block_jackknife(values[0], values[1:]) for values in sets]
        held = np.mean([end.lo <= whole.mean() <= end.hi for end in ends])
        widths = np.mean([end.hi - end.lo for end in ends]) / (2 * stdtrit(BLOCKS - 1, 0.975) * whole.std(ddof=1))
        print(f"| {name} | {whole.mean():.4g} | {whole.std(ddof=1):.3g} | {held:.3f} | {widths:.2f} |")


if __name__ == "__main__":
    main()
