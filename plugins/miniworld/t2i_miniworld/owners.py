"""Which thing each pixel's centre shows: triangles filled into a depth buffer.

Faster than to ask Mitsuba, whose scalar variants list all shapes of the scene anew for each pixel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld import camera
from t2i_miniworld.shapes.mesh import FloatArray, IntArray

#: Centres tested at once: bounds memory where triangles are large.
_BATCH = 500_000


def owners(shapes: Sequence[tuple[FloatArray, IntArray]], elevation: float, size: int) -> NDArray[np.int8]:
    """The index of the nearest of ``shapes`` at each pixel's centre (size, size), -1 where there is none.

    A shape is its world points (V, 3), all before the camera, and its triangles (F, 3).
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
    """The centres (N,) within the triangles of a shape, once for each, and how close it is there (N,).

    ``at`` (V, 2) counts pixels from the first one's centre; ``closeness`` (V,) is one over depth.
    """
    x, y = np.ascontiguousarray(at.T)
    corners = np.ascontiguousarray(faces.T)
    (left, right), (top, bottom) = (_reach(along[corners], size) for along in (x, y))
    # Most triangles are small and hold no centre.
    kept = np.flatnonzero((left <= right) & (top <= bottom))
    left, right, top, bottom = (side[kept] for side in (left, right, top, bottom))
    a, b, c = corners[:, kept]
    bx, by, cx, cy = x[b] - x[a], y[b] - y[a], x[c] - x[a], y[c] - y[a]
    area = bx * cy - by * cx
    # One seen on edge holds none either: nothing compares with NaN.
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
        # Steps along two sides of the triangle; closeness is linear in the picture.
        dx, dy = column - x[of], row - y[of]
        u, v = dx * cy[of] - dy * cx[of], dy * bx[of] - dx * by[of]
        inside = (u >= 0) & (v >= 0) & (u + v <= 1)
        of, u, v = of[inside], u[inside], v[inside]
        found.append(((row * size + column)[inside], near[of] + u * toward_b[of] + v * toward_c[of]))
    pixels, closenesses = zip(*found, strict=True)
    return np.concatenate(pixels), np.concatenate(closenesses)


def _reach(corners: FloatArray, size: int) -> tuple[IntArray, IntArray]:
    """The first and last centre within each triangle's extent, from its corners (3, F) along one axis."""
    first, second, third = corners
    low = np.ceil(np.minimum(np.minimum(first, second), third))
    high = np.floor(np.maximum(np.maximum(first, second), third))
    return np.maximum(low, 0).astype(int), np.minimum(high, size - 1).astype(int)
