"""TIAM's rule for colours, to check paints and masks within this package. The metric itself is in t2i-tiam.

References:
    Grimal et al.: TIAM - A Metric for Evaluating Alignment in Text-to-Image Generation. WACV 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from t2i_miniworld.palette import PAINTS, to_linear

#: CIELAB references after Berlin and Kay's best examples; for ties the first one counts.
REFERENCES: dict[str, tuple[float, float, float]] = {
    "pink": (65.953672, 43.849083, -7.053931),
    "red": (35.557587, 57.090307, 35.771816),
    "yellow": (80.526851, 8.569204, 64.454424),
    "green": (45.870125, -55.739425, 23.659187),
    "blue": (45.870125, -6.692495, -40.215421),
    "purple": (25.307123, 35.017758, -31.099733),
    "black": (0, 0, 0),
    "white": (100, 0.002468, 0.013943),
}
#: Minimum share of an object's mask that must be nearest to a colour.
SHARE = 0.40

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = np.array([0.3127 / 0.3290, 1.0, (1 - 0.3127 - 0.3290) / 0.3290])


def to_lab(srgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Convert sRGB pixels (N, 3) to CIELAB (N, 3) under D65."""
    ratio = to_linear(srgb) @ _TO_XYZ.T / _WHITE
    cube = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = cube.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def shares(srgb: NDArray[np.uint8]) -> dict[str, float]:
    """Return the share of pixels (N, 3) nearest to each reference; zeros without pixels."""
    if not len(srgb):
        return dict.fromkeys(REFERENCES, 0.0)
    distance = np.linalg.norm(to_lab(srgb)[:, None] - np.array(list(REFERENCES.values())), axis=2)
    counts = np.bincount(distance.argmin(axis=1), minlength=len(REFERENCES))
    return {name: float(count / len(srgb)) for name, count in zip(REFERENCES, counts, strict=True)}


def paints_read(srgb: NDArray[np.uint8]) -> set[str]:
    """Return the paints of an object with these pixels (N, 3): none, one or two."""
    return {name for name, share in shares(srgb).items() if name in PAINTS and share >= SHARE}
