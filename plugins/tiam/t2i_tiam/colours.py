"""The exact, slow search for the reference colour nearest to an sRGB value.

The lookup table in `table` is built from it and tested against it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .references import Lab

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = np.array([0.3127, 0.3290, 1 - 0.3127 - 0.3290]) / 0.3290
"""D65 as XYZ with Y = 1, from its chromaticity."""

_LINEAR = np.arange(256) / 255
_LINEAR = np.where(_LINEAR <= 0.04045, _LINEAR / 12.92, ((_LINEAR + 0.055) / 1.055) ** 2.4)
"""Linear light, 0 to 1, of each 8-bit sRGB value."""


def srgb_to_lab(rgb: ArrayLike) -> NDArray[np.float64]:
    """Convert 8-bit sRGB to CIELAB under D65.

    Args:
        rgb: Integers of shape (..., 3), 0 to 255.

    Returns:
        float64 of the same shape: L*, a*, b*.
    """
    xyz = _LINEAR[np.asarray(rgb)] @ _TO_XYZ.T / _WHITE
    x, y, z = np.moveaxis(np.where(xyz > (24 / 116) ** 3, np.cbrt(xyz), xyz * 841 / 108 + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def nearest(rgb: ArrayLike, references: Sequence[Lab]) -> NDArray[np.uint8]:
    """Return the index of the nearest reference colour of each pixel.

    The distance is Euclidean in CIELAB. A tie goes to the first of the references.

    Args:
        rgb: 8-bit sRGB: integers of shape (..., 3), 0 to 255.
        references: The reference colours, at most 255.

    Returns:
        uint8 of shape (...).
    """
    lab = srgb_to_lab(rgb)
    distances = [np.square(lab - np.array(reference)).sum(axis=-1) for reference in references]
    return np.asarray(np.argmin(distances, axis=0), np.uint8)
