"""Instances from class probabilities per pixel: connected regions of one class, with scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

#: Smaller regions, as a fraction of the picture, are ignored; things of the simulator fill at least 1.5 %.
SMALLEST = 0.003
#: Regions with a lower score are ignored.
FLOOR = 0.05


@dataclass(frozen=True)
class Region:
    """One instance.

    Attributes:
        kind: Index of its class, 0 to K-1.
        score: Mean probability of that class over the region.
        probs: (K,), mean class probabilities over the region without the background; they sum to 1.
        box: x0, y0, x1, y1 in pixels; x1 and y1 are exclusive.
        mask: bool (H, W).
    """

    kind: int
    score: float
    probs: NDArray[np.float32]
    box: tuple[int, int, int, int]
    mask: NDArray[np.bool_]


def regions(probabilities: NDArray[np.float32]) -> list[Region]:
    """Split a map of probabilities (1 + K, H, W), background first, into instances, the best score first.

    Each pixel belongs to its most likely class. Pixels that touch at an edge or a corner are connected.
    """
    winner = probabilities.argmax(axis=0)
    least = SMALLEST * winner.size
    found = []
    for kind in range(1, len(probabilities)):
        parts, _ = ndimage.label(winner == kind, structure=np.ones((3, 3)))
        for number, window in enumerate(ndimage.find_objects(parts), start=1):
            inside = parts[window] == number
            if inside.sum() < least:
                continue
            mean = probabilities[:, *window][:, inside].mean(axis=1)
            if mean[kind] < FLOOR:
                continue
            mask = np.zeros(winner.shape, dtype=bool)
            mask[window] = inside
            rows, columns = window
            box = (columns.start, rows.start, columns.stop, rows.stop)
            found.append(Region(kind - 1, float(mean[kind]), mean[1:] / mean[1:].sum(), box, mask))
    return sorted(found, key=lambda region: -region.score)
