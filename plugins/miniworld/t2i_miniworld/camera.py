"""The one camera of the mini world: it looks at the origin of the ground from a fixed distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FIELD_OF_VIEW = 30.0
DISTANCE = 7.0
_HALF = np.tan(np.radians(FIELD_OF_VIEW / 2))


def origin(elevation: float) -> FloatArray:
    """Where the camera stands (3,): on the side of negative y, ``elevation`` degrees up."""
    angle = np.radians(elevation)
    return DISTANCE * np.array([0, -np.cos(angle), np.sin(angle)])


def project(points: FloatArray, elevation: float) -> tuple[FloatArray, FloatArray]:
    """Picture positions (N, 2) and depths (N,) of world points (N, 3).

    Positions count from the upper left corner, 0 to 1 across the picture; outside it they go on.
    """
    right, up, forward = _axes(elevation)
    offset = points - origin(elevation)
    depth = offset @ forward
    across = (offset @ right) / depth / (2 * _HALF)
    upward = (offset @ up) / depth / (2 * _HALF)
    return np.stack([0.5 + across, 0.5 - upward], axis=1), depth


def ground_point(u: float, v: float, elevation: float) -> tuple[float, float]:
    """The point (x, y) of the ground that shows at picture position (u, v), which must be below the horizon."""
    right, up, forward = _axes(elevation)
    ray = forward + 2 * _HALF * ((u - 0.5) * right + (0.5 - v) * up)
    start = origin(elevation)
    point = start - ray * (start[2] / ray[2])
    return float(point[0]), float(point[1])


def horizon(elevation: float) -> float:
    """The height of the horizon in the picture: 0 its upper edge, 1 its lower."""
    return float(0.5 - np.tan(np.radians(elevation)) / (2 * _HALF))


def _axes(elevation: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    angle = np.radians(elevation)
    forward = np.array([0, np.cos(angle), -np.sin(angle)])
    up = np.array([0, np.sin(angle), np.cos(angle)])
    return np.array([1.0, 0, 0]), up, forward
