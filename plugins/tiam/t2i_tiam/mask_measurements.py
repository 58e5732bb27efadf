"""Measurements of an image's masks: everything that TIAM's rules need, for any thresholds chosen later."""

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
"""Pairs of masks with a lower IoU are not stored, so the overlap threshold cannot be lower."""


@dataclass(frozen=True)
class MaskMeasurements:
    """Colour counts and overlaps of the masks found in one image, independent of its prompt.

    Attributes:
        references: The reference colours. A pixel equally near to several counts for the first.
    """

    references: tuple[Lab, ...]

    def take(self, pixels: NDArray[np.uint8], found: Segments) -> Arrays:
        """Measure the masks of one image.

        Args:
            pixels: The image, uint8 of shape (height, width, 3).
            found: Its n detections with masks.

        Returns:
            Two arrays by name. `colours`, int32 of shape (n, len(references)): the number of pixels of each mask
            that are nearest to each reference; the sum of a row is the area of the mask. `overlaps`, int32 of
            shape (k, 3): detections i < j of different classes and the number of pixels that their masks share,
            for pairs with an IoU of at least OVERLAP_FLOOR.

        Raises:
            ValueError: If a mask and the image differ in size.
        """
        colours = np.zeros((len(found), len(self.references)), np.int32)
        for i, mask in enumerate(found.masks):
            if mask.size != (pixels.shape[1], pixels.shape[0]):
                raise ValueError(
                    f"a mask must have the size of its image, {pixels.shape[1::-1]} pixels (got {mask.size})"
                )
            x0, y0, x1, y1 = mask.box
            colours[i] = count_colours(
                pixels[y0:y1, x0:x1], mask.crop(), load_table(self.references), len(self.references)
            )
        return {"colours": colours, "overlaps": _find_overlaps(found, colours.sum(axis=1))}


def _find_overlaps(found: Segments, areas: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the overlapping pairs; intersect only masks whose areas and boxes allow the minimum IoU."""
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
