"""Camera of the mini world, which looks at the origin of the ground from a fixed distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

FIELD_OF_VIEW = 30.0
DISTANCE = 7.0
_HALF = np.tan(np.radians(FIELD_OF_VIEW / 2))


def origin(elevation: float) -> FloatArray:
    """Return the position of the camera (3,): on the side of negative y, ``elevation`` degrees up."""
    angle = np.radians(elevation)
    return DISTANCE * np.array([0, -np.cos(angle), np.sin(angle)])


def project(points: FloatArray, elevation: float) -> tuple[FloatArray, FloatArray]:
    """Return picture positions (N, 2) and depths (N,) of world points (N, 3).

    Positions are relative to the upper left corner, 0 to 1 across the picture; points outside have other values.
    """
    right, up, forward = _axes(elevation)
    offset = points - origin(elevation)
    depth = offset @ forward
    across = (offset @ right) / depth / (2 * _HALF)
    upward = (offset @ up) / depth / (2 * _HALF)
    return np.stack([0.5 + across, 0.5 - upward], axis=1), depth


def ground_point(u: float, v: float, elevation: float) -> tuple[float, float]:
    """Return the point (x, y) of the ground at picture position (u, v), which must be below the horizon."""
    right, up, forward = _axes(elevation)
    ray = forward + 2 * _HALF * ((u - 0.5) * right + (0.5 - v) * up)
    start = origin(elevation)
    point = start - ray * (start[2] / ray[2])
    return float(point[0]), float(point[1])


def horizon(elevation: float) -> float:
    """Return the height of the horizon in the picture: 0 is its upper edge, 1 its lower edge."""
    return float(0.5 - np.tan(np.radians(elevation)) / (2 * _HALF))


def _axes(elevation: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    angle = np.radians(elevation)
    forward = np.array([0, np.cos(angle), -np.sin(angle)])
    up = np.array([0, np.sin(angle), np.cos(angle)])
    return np.array([1.0, 0, 0]), up, forward
