"""Triangle meshes of shapes: parts, whose vertices name their material, and models assembled from parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Part:
    """One connected piece. Axes: x forward, y to its left, z up; the ground is z = 0.

    vertices (V, 3), faces (F, 3) counter-clockwise from outside, material (V,) names.
    """

    vertices: FloatArray
    faces: IntArray
    material: NDArray[np.str_]


@dataclass(frozen=True)
class MeshModel:
    """A whole thing as the renderer takes it: V vertices, F triangles, smooth normals.

    vertices (V, 3), normals (V, 3) of unit length, faces (F, 3); ``material`` (V,) indexes ``materials``.
    """

    vertices: FloatArray
    normals: FloatArray
    faces: IntArray
    material: IntArray
    materials: tuple[str, ...]


def assemble(parts: Sequence[Part]) -> MeshModel:
    """Join parts into one model that stands on z = 0, is centred in x and y, and has height or length 1.

    Parts keep their own vertices, so that edges between them stay crisp.
    """
    offsets = np.cumsum([0] + [len(part.vertices) for part in parts])
    vertices = np.concatenate([part.vertices for part in parts])
    normals = np.concatenate([vertex_normals(part.vertices, part.faces) for part in parts])
    faces = np.concatenate([part.faces + offset for part, offset in zip(parts, offsets, strict=False)])
    materials, material = np.unique(np.concatenate([part.material for part in parts]), return_inverse=True)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    centre = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    size = max(high[0] - low[0], high[2] - low[2])
    return MeshModel((vertices - centre) / size, normals, faces, material, tuple(str(name) for name in materials))


def vertex_normals(vertices: FloatArray, faces: IntArray) -> FloatArray:
    """Return unit normals (V, 3), each triangle weighted by its area.

    The weight keeps large flat faces flat up to their rounded edges.
    """
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    weighted = np.cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(total, faces[:, corner], weighted)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return total / np.maximum(length, 1e-12)
