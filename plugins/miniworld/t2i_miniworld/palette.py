"""The eight paints of the mini world, and conversion between sRGB and linear light."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

RGB = tuple[int, int, int]
"""An sRGB colour, 0 to 255 per channel."""

#: Colours that a prompt may ask for. The nearest of TIAM's reference colours is the right one while light scales
#: the paint by .31 to 2.5. (Pure 0,0,255, for example, would be read as purple.)
PAINTS: dict[str, RGB] = {
    "red": (168, 16, 30),
    "green": (0, 129, 67),
    "blue": (0, 116, 176),
    "purple": (87, 38, 108),
    "pink": (228, 129, 174),
    "yellow": (247, 191, 73),
    "white": (246, 246, 243),
    "black": (26, 25, 27),
}


def to_linear(srgb: ArrayLike) -> NDArray[np.float64]:
    """Convert sRGB values (any shape, 0 to 255) to linear light (same shape, 0 to 1)."""
    value = np.asarray(srgb, dtype=np.float64) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: ArrayLike) -> NDArray[np.uint8]:
    """Convert linear light (any shape; values are clipped to 0 to 1) to 8-bit sRGB."""
    value = np.clip(np.asarray(linear, dtype=np.float64), 0, 1)
    encoded = np.where(value <= 0.0031308, value * 12.92, 1.055 * value ** (1 / 2.4) - 0.055)
    return np.round(encoded * 255).astype(np.uint8)
