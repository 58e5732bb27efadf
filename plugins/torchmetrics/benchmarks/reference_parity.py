"""Compare PRDC and the Vendi score with their authors' packages on random features, and print the differences.

    uv run --with prdc --with vendi-score python plugins/torchmetrics/benchmarks/reference_parity.py

t2i does not depend on the packages. The script fails if a value differs by more than `TOLERANCE`.

References:
    Naeem et al.: Reliable Fidelity and Diversity Metrics for Generative Models. ICML 2020 (prdc 0.2).
    Friedman, Dieng: The Vendi Score. TMLR 2023 (vendi-score 0.0.3).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from prdc import compute_prdc
from t2i_torchmetrics.neighbourhoods import find_radii, score_images
from t2i_torchmetrics.vendi import vendi_score
from vendi_score import vendi

TOLERANCE = 1e-6
"""Largest absolute difference of PRDC's shares, and largest relative one of Vendi scores."""

SIZES = ((200, 150, 8), (500, 500, 64), (300, 1000, 256))
"""Numbers of reference images, of generated images and of features."""


def compare_prdc() -> Iterator[tuple[str, float]]:
    """Yield the difference of each of PRDC's scores, for each size and number of neighbours."""
    for real, generated, width in SIZES:
        rng = np.random.default_rng(width)
        reference = rng.normal(size=(real, width))
        images = rng.normal(0.2, 0.9, size=(generated, width))
        for k in (3, 5):
            ours = score_images(reference, find_radii(reference, k), images, k)
            theirs = compute_prdc(reference, images, nearest_k=k)
            for name in ("precision", "recall", "density", "coverage"):
                yield f"{name}, {real} x {generated} x {width}, k = {k}", abs(getattr(ours, name) - theirs[name])


def compare_vendi() -> Iterator[tuple[str, float]]:
    """Yield the relative difference of Vendi scores, for each size and order."""
    for _, images, width in SIZES:
        vectors = np.random.default_rng(images).normal(size=(images, width)) + 1
        for order in (0.5, 1, 2, np.inf):
            # their score_X ignores the order
            theirs = float(
                vendi.score_K(vectors @ vectors.T, q="inf" if order == np.inf else order, normalize=True)
            )
            yield f"vendi, {images} x {width}, order {order:g}", abs(vendi_score(vectors, order) / theirs - 1)


def main() -> None:
    """Print each difference."""
    worst = 0.0
    for name, difference in (*compare_prdc(), *compare_vendi()):
        worst = max(worst, difference)
        print(f"{name}: {difference:.1e}")
    print(f"largest difference: {worst:.1e}")
    sys.exit(worst > TOLERANCE)


if __name__ == "__main__":
    main()
