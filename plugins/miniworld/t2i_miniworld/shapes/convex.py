"""Triangles around convex things: the hull of points, and the unit ball."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial import ConvexHull

from t2i_miniworld.shapes.mesh import FloatArray, IntArray

_LONG, _SHORT = 0.85065080835204, 0.5257311121191336
_ICOSAHEDRON = (
    [
        *((x, y, 0) for y in (_LONG, -_LONG) for x in (-_SHORT, _SHORT)),
        *((0, y, z) for z in (_LONG, -_LONG) for y in (-_SHORT, _SHORT)),
        *((x, 0, z) for x in (_LONG, -_LONG) for z in (-_SHORT, _SHORT)),
    ],
    [
        *((0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11)),
        *((1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8)),
        *((3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9)),
        *((4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)),
    ],
)


def hull(points: FloatArray) -> tuple[FloatArray, IntArray]:
    """The corners (V, 3) of the convex hull of points (N, 3) and its faces (F, 3), which look outwards."""
    found = ConvexHull(points, qhull_options="QbB Pp Qt")
    kept = np.sort(found.vertices)
    number = np.zeros(len(points), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    vertices, faces = points[kept], number[found.simplices]
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    centres = (a + b + c) / 3
    middle = np.average(centres, weights=np.linalg.norm(across, axis=1), axis=0)
    inwards = ((centres - middle) * across).sum(axis=1) < 0  # Qhull winds them either way
    faces[inwards] = faces[inwards, ::-1]
    return vertices, faces


@cache
def ball(detail: int) -> tuple[FloatArray, IntArray]:
    """An icosahedron each of whose triangles is cut in four ``detail`` times: corners at 1 from the middle."""
    vertices, faces = np.array(_ICOSAHEDRON[0], dtype=float), np.array(_ICOSAHEDRON[1], dtype=np.int64)
    for _ in range(detail):
        ends = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        edges, edge = np.unique(ends[:, ::-1], axis=0, return_inverse=True)
        (a, b, c), (ab, bc, ca) = faces.T, edge.reshape(-1, 3).T + len(vertices)
        faces = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
        vertices = np.concatenate([vertices, vertices[edges[:, ::-1]].mean(axis=1)])
        length = np.sqrt(np.dot(vertices**2, [1, 1, 1]))[:, None]
        vertices = vertices + vertices / length * (1 - length)
    vertices.flags.writeable = faces.flags.writeable = False  # all egg-shaped parts share them
    return vertices, faces
