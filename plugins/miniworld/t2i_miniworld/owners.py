"""The thing that each pixel's centre shows, computed with a depth buffer.

This is faster than Mitsuba, whose scalar variants list all shapes of the scene again for each pixel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld import camera
from t2i_miniworld.shapes.mesh import FloatArray, IntArray

#: Number of centres tested at once, which limits memory for large triangles.
_BATCH = 500_000


def owners(shapes: Sequence[tuple[FloatArray, IntArray]], elevation: float, size: int) -> NDArray[np.int8]:
    """Return the index of the nearest shape at each pixel's centre, (size, size); -1 where no shape is.

    Args:
        shapes: World points (V, 3), all in front of the camera, and triangles (F, 3) of each shape.
        elevation: Angle of the camera above the ground in degrees.
        size: Side of the picture in pixels.
    """
    owner = np.full(size * size, -1, dtype=np.int8)
    front = np.zeros(size * size)
    for number, (points, faces) in enumerate(shapes):
        at, depth = camera.project(points, elevation)
        pixel, closeness = _centres(at * size - 0.5, 1 / depth, faces, size)
        owner[pixel[closeness > front[pixel]]] = number
        np.maximum.at(front, pixel, closeness)
    return owner.reshape(size, size)


def _centres(at: FloatArray, closeness: FloatArray, faces: IntArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return the centres (N,) within the triangles of a shape, once per triangle, and the closeness there (N,).

    ``at`` (V, 2) is in pixels from the centre of the first pixel; ``closeness`` (V,) is one over depth.
    """
    x, y = np.ascontiguousarray(at.T)
    corners = np.ascontiguousarray(faces.T)
    (left, right), (top, bottom) = (_reach(along[corners], size) for along in (x, y))
    # most triangles are small and contain no centre
    kept = np.flatnonzero((left <= right) & (top <= bottom))
    left, right, top, bottom = (side[kept] for side in (left, right, top, bottom))
    a, b, c = corners[:, kept]
    bx, by, cx, cy = x[b] - x[a], y[b] - y[a], x[c] - x[a], y[c] - y[a]
    area = bx * cy - by * cx
    # a triangle seen edge-on contains none either: comparisons with NaN are false
    area[area == 0] = np.nan
    bx, by, cx, cy = (side / area for side in (bx, by, cx, cy))
    x, y, near = x[a], y[a], closeness[a]
    toward_b, toward_c = closeness[b] - near, closeness[c] - near

    wide = right - left + 1
    cells = wide * (bottom - top + 1)
    found = []
    for batch in np.split(np.arange(len(kept)), np.flatnonzero(np.diff(np.cumsum(cells) // _BATCH)) + 1):
        of = np.repeat(batch, cells[batch])
        first = np.cumsum(cells[batch]) - cells[batch]
        down, across = np.divmod(np.arange(len(of)) - np.repeat(first, cells[batch]), wide[of])
        column, row = left[of] + across, top[of] + down
        # barycentric coordinates; closeness is linear in the picture
        dx, dy = column - x[of], row - y[of]
        u, v = dx * cy[of] - dy * cx[of], dy * bx[of] - dx * by[of]
        inside = (u >= 0) & (v >= 0) & (u + v <= 1)
        of, u, v = of[inside], u[inside], v[inside]
        found.append(((row * size + column)[inside], near[of] + u * toward_b[of] + v * toward_c[of]))
    pixels, closenesses = zip(*found, strict=True)
    return np.concatenate(pixels), np.concatenate(closenesses)


def _reach(corners: FloatArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the first and last centre within each triangle's extent along one axis, from its corners (3, F)."""
    first, second, third = corners
    low = np.ceil(np.minimum(np.minimum(first, second), third))
    high = np.floor(np.maximum(np.maximum(first, second), third))
    return np.maximum(low, 0).astype(int), np.minimum(high, size - 1).astype(int)
