"""What TIAM takes from an image while it is open: all that its rules need, whatever thresholds come later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Segments
from t2i_core.api.array_codec import Arrays
from t2i_core.api.mask import count_shared_pixels

from .references import Lab
from .table import count_colours, load_table

OVERLAP_FLOOR = 0.5
"""Pairs of masks whose IoU is below are not kept: no threshold may be lower."""


@dataclass(frozen=True)
class MaskMeasurements:
    """Counts colours and overlaps of the masks found in one image, whatever its prompt.

    references: the reference colours, in the order in which ties are settled
    """

    references: tuple[Lab, ...]

    def take(self, pixels: NDArray[np.uint8], found: Segments) -> Arrays:
        """Return named arrays about n detections.

        colours:   int32 (n, len(references)), pixels of each mask nearest to each reference; a row's sum is the
                   mask's area
        overlaps:  int32 (k, 3), detections i < j of different labels and the pixels that their masks share, for
                   pairs whose IoU is at least OVERLAP_FLOOR

        Raises ValueError where a mask has another size than the image.
        """
        colours = np.zeros((len(found), len(self.references)), np.int32)
        for i, mask in enumerate(found.masks):
            if mask.size != (pixels.shape[1], pixels.shape[0]):
                raise ValueError(f"a mask of {mask.size} pixels on an image of {pixels.shape[1::-1]}")
            x0, y0, x1, y1 = mask.box
            colours[i] = count_colours(
                pixels[y0:y1, x0:x1], mask.crop(), load_table(self.references), len(self.references)
            )
        return {"colours": colours, "overlaps": _overlaps(found, colours.sum(axis=1))}


def _overlaps(found: Segments, areas: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the pairs that overlap; only those whose areas and boxes allow it are intersected."""
    boxes = np.array([m.box for m in found.masks], np.int64).reshape(-1, 4)
    first, second = np.triu_indices(len(found), 1)
    low = np.maximum(boxes[first, :2], boxes[second, :2])
    high = np.minimum(boxes[first, 2:], boxes[second, 2:])
    most = np.minimum(np.clip(high - low, 0, None).prod(axis=1), np.minimum(areas[first], areas[second]))
    union = areas[first] + areas[second] - most
    candidates = (found.classes[first] != found.classes[second]) & (most > 0) & (most >= OVERLAP_FLOOR * union)
    pairs = []
    for i, j in zip(first[candidates].tolist(), second[candidates].tolist(), strict=True):
        shared = count_shared_pixels(found.masks[i], found.masks[j])
        if shared >= OVERLAP_FLOOR * (areas[i] + areas[j] - shared):
            pairs.append((i, j, shared))
    return np.array(pairs, np.int32).reshape(-1, 3)
