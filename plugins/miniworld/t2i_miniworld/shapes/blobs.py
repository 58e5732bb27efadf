"""Soft bodies of animals: limbs and eggs blended into one smooth skin.

A body is a list of primitives. Their signed distances are joined by a smooth minimum (Inigo Quilez's polynomial
form), and the zero surface is meshed by naive surface nets (Gibson 1998).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from t2i_miniworld.shapes.mesh import FloatArray, IntArray, Part, Point

Marks = Callable[[FloatArray, NDArray[np.str_]], NDArray[np.str_]]
"""Function of vertices (V, 3) and their materials (V,) that returns materials with stripes, patches and so on."""


@dataclass(frozen=True)
class Limb:
    """A rod from ``a`` to ``b`` that narrows from one radius to the other."""

    material: str
    a: Point
    b: Point
    radius_a: float
    radius_b: float

    def distance(self, points: FloatArray) -> FloatArray:
        """Return the signed distance of points (..., 3), negative inside."""
        start, along = np.asarray(self.a), np.subtract(self.b, self.a)
        offset = points - start
        t = np.clip(offset @ along / max(float(along @ along), 1e-12), 0, 1)
        radius = self.radius_a + t * (self.radius_b - self.radius_a)
        return np.linalg.norm(offset - t[..., None] * along, axis=-1) - radius

    def mirror(self) -> Limb:
        """Return the same limb on the other side."""
        return replace(self, a=_flip(self.a), b=_flip(self.b))

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the box that holds it: low and high corner."""
        reach = np.array([[self.radius_a], [self.radius_b]])
        ends = np.array([self.a, self.b])
        return (ends - reach).min(axis=0), (ends + reach).max(axis=0)


@dataclass(frozen=True)
class Egg:
    """An ellipsoid with three radii, turned about the vertical axis by ``yaw`` and nose-up by ``pitch`` (rad)."""

    material: str
    centre: Point
    radii: Point
    yaw: float = 0.0
    pitch: float = 0.0

    def distance(self, points: FloatArray) -> FloatArray:
        """Return the signed distance of points (..., 3), negative inside, and exact only at the surface."""
        local = (points - np.asarray(self.centre)) @ self._axes()
        k0 = np.linalg.norm(local / self.radii, axis=-1)
        k1 = np.linalg.norm(local / np.square(self.radii), axis=-1)
        return k0 * (k0 - 1) / np.maximum(k1, 1e-9)

    def mirror(self) -> Egg:
        """Return the same egg on the other side."""
        return replace(self, centre=_flip(self.centre), yaw=-self.yaw)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the box that holds it: low and high corner."""
        reach = np.linalg.norm(self._axes() * np.asarray(self.radii), axis=1)
        return np.asarray(self.centre) - reach, np.asarray(self.centre) + reach

    def _axes(self) -> FloatArray:
        cy, sy, cp, sp = np.cos(self.yaw), np.sin(self.yaw), np.cos(self.pitch), np.sin(self.pitch)
        turn = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        tilt = np.array([[cp, 0, -sp], [0, 1, 0], [sp, 0, cp]])
        return turn @ tilt


Primitive = Limb | Egg

_CORNERS = list(product((0, 1), repeat=3))
"""Corners of a cell of a grid."""


def both(primitives: Iterable[Primitive]) -> list[Primitive]:
    """Return each primitive and its mirror image: legs, ears, eyes."""
    return [side for primitive in primitives for side in (primitive, primitive.mirror())]


def chain(material: str, points: Sequence[Point], radii: Sequence[float]) -> list[Primitive]:
    """Build limbs from point to point: a trunk, a tail, a bent leg."""
    links = zip(points, points[1:], radii, radii[1:], strict=False)
    return [Limb(material, a, b, radius_a, radius_b) for a, b, radius_a, radius_b in links]


def melt(primitives: Sequence[Primitive], blend: float, marks: Marks | None = None, cells: int = 54) -> Part:
    """Join primitives into one skin.

    Args:
        primitives: The primitives.
        blend: Width over which neighbours are blended, in the unit of the points.
        marks: Changes the materials. By default a vertex has the material of the nearest primitive.
        cells: Number of grid cells along the longest side.
    """
    lows, highs = zip(*(primitive.bounds() for primitive in primitives), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    step = float((high - low).max()) / cells
    low, high = low - 2 * step - blend / 4, high + 2 * step + blend / 4
    axes = [np.arange(lo, hi + step, step) for lo, hi in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    field = np.full(grid.shape[:-1], 1e3)
    for primitive in primitives:
        # a primitive has no effect beyond the blend, so only the box around it is computed
        near = _window(primitive, axes, margin=2 * blend + 3 * step)
        field[near] = _smooth_minimum(field[near], primitive.distance(grid[near]), blend)
    vertices, faces = surface_nets(field, low, step)
    nearest = np.argmin([primitive.distance(vertices) for primitive in primitives], axis=0)
    # 16 characters are enough for any name that the marks may write
    material = np.array([primitive.material for primitive in primitives], dtype="<U16")[nearest]
    return Part(vertices, faces, marks(vertices, material) if marks else material)


def surface_nets(field: FloatArray, origin: FloatArray, step: float) -> tuple[FloatArray, IntArray]:
    """Mesh the zero surface of a sampled field (X, Y, Z), negative inside: vertices (V, 3), faces (F, 3)."""
    inside = field < 0
    corners = [_corner(inside, offset) for offset in _CORNERS]
    active = np.logical_or.reduce(corners) & ~np.logical_and.reduce(corners)
    cells = np.argwhere(active)
    value = {offset: field[tuple((cells + offset).T)] for offset in _CORNERS}
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells), dtype=int)
    for axis in range(3):
        for offset in (each for each in _CORNERS if each[axis] == 0):
            end = tuple(o + (a == axis) for a, o in enumerate(offset))
            start_value, end_value = value[offset], value[end]
            crossing = (start_value < 0) != (end_value < 0)
            at = np.where(crossing, start_value / np.where(crossing, start_value - end_value, 1), 0)
            for a in range(3):
                total[:, a] += np.where(crossing, offset[a] + (at if a == axis else 0), 0)
            count += crossing
    index = np.cumsum(active).reshape(active.shape) - 1
    vertices = origin + step * (cells + total / count[:, None])
    faces = [_quads(inside, index, axis) for axis in range(3)]
    return vertices, np.concatenate(faces)


def _quads(inside: NDArray[np.bool_], index: IntArray, axis: int) -> IntArray:
    """Return the triangles across all grid edges along one axis, each joining the four cells around it."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    start, end = np.moveaxis(inside, axis, 0)[:-1], np.moveaxis(inside, axis, 0)[1:]
    edges = np.moveaxis(start != end, 0, axis)
    at = np.argwhere(edges)
    at = at[(at[:, u] > 0) & (at[:, v] > 0)]
    unit = np.eye(3, dtype=int)
    around = [at - unit[u] - unit[v], at - unit[v], at, at - unit[u]]
    a, b, c, d = (index[tuple(cell.T)] for cell in around)
    outward = inside[tuple(at.T)]
    forward = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], 1)
    return np.where(outward[:, None, None], forward, forward[:, :, ::-1]).reshape(-1, 3)


def _window(primitive: Primitive, axes: list[FloatArray], margin: float) -> tuple[slice, ...]:
    low, high = primitive.bounds()
    starts = [int(np.searchsorted(axis, lo - margin)) for axis, lo in zip(axes, low, strict=True)]
    ends = [int(np.searchsorted(axis, hi + margin)) for axis, hi in zip(axes, high, strict=True)]
    return tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))


def _corner(grid: NDArray[np.bool_], offset: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the value at one corner of each cell of a grid."""
    return grid[tuple(slice(o, size - 1 + o) for o, size in zip(offset, grid.shape, strict=True))]


def _smooth_minimum(a: FloatArray, b: FloatArray, width: float) -> FloatArray:
    overlap = np.maximum(width - np.abs(a - b), 0) / width
    return np.minimum(a, b) - overlap**2 * width / 4


def _flip(point: Point) -> Point:
    return (point[0], -point[1], point[2])
