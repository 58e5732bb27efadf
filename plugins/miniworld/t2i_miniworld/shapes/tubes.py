"""Hollow and bent things as one smooth skin: tubes along a curve, hoops, and open hulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from t2i_miniworld.shapes.mesh import FloatArray, IntArray, Part, Point

_SIDES = 10


def tube(
    material: str,
    points: ArrayLike,
    radius: float,
    flat: float | None = None,
    up: Point = (0.0, 0.0, 1.0),
    closed: bool = False,
) -> Part:
    """Build a tube along ``points`` (N, 3): ``radius`` wide, and ``flat`` thick in the direction of ``up``.

    ``up`` must nowhere run along the curve. A ``closed`` tube joins its end to its beginning.
    """
    curve = np.asarray(points, dtype=float)
    after, before = np.roll(curve, -1, axis=0), np.roll(curve, 1, axis=0)
    if not closed:
        after[-1], before[0] = curve[-1], curve[0]
    along = _unit(after - before)
    side = _unit(np.cross(along, np.asarray(up)))
    rise = np.cross(along, side)
    angle = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)[:, None]
    thick = radius if flat is None else flat
    rings = curve[:, None] + radius * np.cos(angle) * side[:, None] + thick * np.sin(angle) * rise[:, None]
    grid = np.arange(len(curve) * _SIDES).reshape(len(curve), _SIDES)
    grid = np.concatenate([grid, grid[:, :1]], axis=1)
    if closed:
        faces = quads(np.concatenate([grid, grid[:1]]))
    else:
        faces = np.concatenate([quads(grid), _fan(grid[0, :-1]), _fan(grid[-1, :-1])[:, ::-1]])
    return whole(material, rings, faces)


def hoop(material: str, centre: Point, radius: float, thick: float, wide: float) -> Part:
    """Build an upright ring around ``centre``, axle along y; ``thick`` is radial, ``wide`` is along y."""
    angle = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    points = np.stack([radius * np.cos(angle), 0 * angle, radius * np.sin(angle)], axis=1) + centre
    return tube(material, points, thick, wide, up=(0.0, 1.0, 0.0), closed=True)


def hull(
    outside: str,
    inside: str,
    section: Callable[[float, float], FloatArray],
    stations: Sequence[float],
    wall: float,
) -> list[Part]:
    """Build an open shell: ``section(t, inset)`` gives the points (N, 3) from rim to rim at station ``t``.

    Sections run from the left rim over the keel to the right one, stations from stern to bow; the inner skin is
    the same section made smaller by ``wall``.
    """
    parts = []
    for material, inset in ((outside, 0.0), (inside, wall)):
        skin = np.stack([section(t, inset) for t in stations])
        faces = quads(np.arange(skin.shape[0] * skin.shape[1]).reshape(skin.shape[:2]))
        parts.append(whole(material, skin, faces if inset else faces[:, ::-1]))
    return parts


def quads(grid: IntArray) -> IntArray:
    """Return triangles (F, 3) between neighbours in a grid (R, C) of vertex numbers."""
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    return np.concatenate([np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))])


def whole(material: str, vertices: FloatArray, faces: IntArray) -> Part:
    """Build a part of a single material; ``vertices`` (..., 3)."""
    flat = vertices.reshape(-1, 3)
    return Part(flat, faces, np.full(len(flat), material))


def _fan(rim: IntArray) -> IntArray:
    return np.stack([np.full(len(rim) - 2, rim[0]), rim[2:], rim[1:-1]], axis=1)


def _unit(vectors: FloatArray) -> FloatArray:
    unit: FloatArray = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
    return unit
