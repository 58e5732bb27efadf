"""Masks: as the network gives them, or as the outlines of which TIAM's masks are made."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from t2i_ultralytics import library


def filled(polygon: NDArray[np.floating], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the inside of a polygon, its edge included: vertices cut off to whole pixels, and cv2.fillPoly.

    polygon: vertices, x and y, of shape (n, 2)
    size:    width and height of the image
    """
    canvas = np.zeros((size[1], size[0]), np.uint8)
    if len(polygon):
        cv2.fillPoly(canvas, [polygon.astype(np.int32)], 1)
    return canvas.astype(bool)


def outlined(mask: NDArray[np.uint8], strategy: str) -> NDArray[np.bool_]:
    """Return the outline of a mask (height, width), filled.

    strategy: the library's for the polygons of its results (`masks.xy`): the outline of most points (largest), or
              of every part (all)
    """
    (polygon,) = library.ops.masks2segments(mask[None], strategy=strategy)
    return filled(polygon, (mask.shape[1], mask.shape[0]))
