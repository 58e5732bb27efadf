"""Masks from the network, or from outlines as in TIAM."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from t2i_ultralytics import library


def fill_polygon(polygon: NDArray[np.floating], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the interior of a polygon with its edge, by cv2.fillPoly with vertices truncated to whole pixels.

    Args:
        polygon: Vertices, x and y, of shape (n, 2).
        size: Width and height of the image.
    """
    canvas = np.zeros((size[1], size[0]), np.uint8)
    if len(polygon):
        cv2.fillPoly(canvas, [polygon.astype(np.int32)], 1)
    return canvas.astype(bool)


def fill_outline(mask: NDArray[np.uint8], strategy: str) -> NDArray[np.bool_]:
    """Return the filled outline of a mask (height, width).

    `strategy` is the library's strategy for polygons of results (`masks.xy`): the outline with the most points
    (`largest`), or the outlines of all parts (`all`).
    """
    (polygon,) = library.ops.masks2segments(mask[None], strategy=strategy)
    return fill_polygon(polygon, (mask.shape[1], mask.shape[0]))
