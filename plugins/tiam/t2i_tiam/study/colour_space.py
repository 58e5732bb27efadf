"""Conversion from CIELAB to chromaticities and to the colours of a screen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..references import Lab

_WHITE = np.array([0.3127, 0.3290, 1 - 0.3127 - 0.3290]) / 0.3290
"""D65 as XYZ with Y = 1, from its chromaticity."""

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab_to_xyz(lab: Lab) -> NDArray[np.float64]:
    """Return a colour of CIELAB under D65 as X, Y, Z with Y from 0 to 1: float64 of shape (3,)."""
    lightness, a, b = lab
    y = (lightness + 16) / 116
    f = np.array([y + a / 500, y, y - b / 200])
    return np.asarray(np.where(f > 24 / 116, f**3, (f - 16 / 116) * 108 / 841) * _WHITE)


def lab_to_css(lab: Lab) -> str:
    """Return a colour as in CSS (`#rrggbb`), in sRGB; what a screen cannot show is cut off."""
    linear = np.clip(np.linalg.solve(_TO_XYZ, lab_to_xyz(lab)), 0, 1)
    encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in encoded)
