"""Balls of triangles of about equal size: an icosahedron whose triangles are halved again and again."""

from __future__ import annotations

from functools import cache

import numpy as np

from t2i_miniworld.shapes.mesh import FloatArray, IntArray

_A, _B = 0.5257311121191336, 0.85065080835204
"""Coordinates of the corners of an icosahedron of radius 1, whose edges relate as 1 to the golden ratio."""
_CORNERS = np.array([
    (-_A, _B, 0), (_A, _B, 0), (-_A, -_B, 0), (_A, -_B, 0), (0, -_A, _B), (0, _A, _B),
    (0, -_A, -_B), (0, _A, -_B), (_B, 0, -_A), (_B, 0, _A), (-_B, 0, -_A), (-_B, 0, _A),
])  # fmt: skip
_TRIANGLES = np.array([
    (0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6),
    (7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7),
    (9, 8, 1),
])  # fmt: skip


@cache
def make_ball(detail: int) -> tuple[FloatArray, IntArray]:
    """Return the vertices (V, 3) of a ball of radius 1 and its 20 * 4^``detail`` triangles, as seen from outside.

    Pictures depend on the order of both, so it stays as it is.
    """
    vertices, faces = _CORNERS, _TRIANGLES
    for _ in range(detail):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        names = edges[:, 1] * len(vertices) + edges[:, 0]
        _, first, edge_of = np.unique(names, return_index=True, return_inverse=True)
        (a, b, c), (ab, bc, ca) = faces.T, (edge_of + len(vertices)).reshape(-1, 3).T
        faces = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1).reshape(-1, 3)
        vertices = np.concatenate([vertices, vertices[edges[first]].mean(axis=1)])
        length = np.sqrt(vertices**2 @ np.ones(3))[:, None]
        vertices = vertices + vertices / length * (1 - length)
    for array in (vertices, faces):
        array.flags.writeable = False
    return vertices, faces
