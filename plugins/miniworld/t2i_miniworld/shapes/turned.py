"""Round and bent things: profiles turned about an upright axle, tubes, straps and leaves along a path."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from t2i_miniworld.shapes.mesh import FloatArray, Part, Point
from t2i_miniworld.shapes.solids import solid

_SIDES = 28


def lathe(
    material: str, profile: Sequence[tuple[float, float]], at: tuple[float, float] = (0, 0), rounding: float = 0.01
) -> Part:
    """Turn ``profile``, (radius, z) from the lowest point on, about the vertical axle through ``at``.

    Ends are closed. A profile that comes back down inside gives a vessel. Corners are cut by ``rounding``.
    """
    radius, z = np.array(_rounded(profile, rounding)).T
    angle = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)
    rings = np.stack(
        [
            at[0] + radius[:, None] * np.cos(angle),
            at[1] + radius[:, None] * np.sin(angle),
            np.broadcast_to(z[:, None], (len(z), _SIDES)),
        ],
        axis=-1,
    )
    vertices = np.concatenate([rings.reshape(-1, 3), [(*at, z[0]), (*at, z[-1])]])
    here = np.arange(_SIDES)
    after = (here + 1) % _SIDES
    faces = []
    for ring in range(len(z) - 1):
        a, b = ring * _SIDES, (ring + 1) * _SIDES
        faces += [np.stack([a + here, a + after, b + after], 1), np.stack([a + here, b + after, b + here], 1)]
    last, bottom = (len(z) - 1) * _SIDES, len(vertices) - 2
    faces.append(np.stack([np.full(_SIDES, bottom), after, here], 1))
    faces.append(np.stack([np.full(_SIDES, bottom + 1), last + here, last + after], 1))
    return Part(vertices, np.concatenate(faces), np.full(len(vertices), material))


def tube(material: str, path: Sequence[Point], radius: float) -> list[Part]:
    """Build rods from point to point: a handle, a zip, a letter's stroke."""
    return [solid(material, [a, b], radius) for a, b in itertools.pairwise(path)]


def strap(material: str, path: Sequence[Point], half: Point, rounding: float) -> list[Part]:
    """Build a band along ``path`` that reaches to either side by the vector ``half``."""
    edges = [(tuple(np.add(point, half)), tuple(np.subtract(point, half))) for point in path]
    return [solid(material, [*a, *b], rounding) for a, b in itertools.pairwise(edges)]


def leaf(material: str, spine: FloatArray, half: FloatArray, across: FloatArray, thickness: float) -> Part:
    """Build a blade along ``spine`` (N, 3) with half-widths ``half`` (N,) along the unit vector ``across``."""
    along = np.gradient(spine, axis=0)
    up = np.cross(along, across)
    up /= np.maximum(np.linalg.norm(up, axis=1, keepdims=True), 1e-9)
    # A keel below the middle, as if folded a little along the vein.
    wide, fold = half[:, None] * across, 0.35 * half[:, None] * up
    bulge = thickness * up
    # Upper and lower side share no vertices: each is shaded as a separate surface.
    upper = [spine + wide, spine - fold + bulge, spine - wide]
    section = np.stack([*upper, spine - wide, spine - fold - bulge, spine + wide], axis=1)
    count = len(spine)
    here = np.array([0, 1, 3, 4]) + 6 * np.arange(count - 1)[:, None]
    a, b, c, d = here, here + 1, here + 7, here + 6
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return Part(section.reshape(-1, 3), faces, np.full(6 * count, material))


def _rounded(profile: Sequence[tuple[float, float]], rounding: float) -> list[FloatArray]:
    points = [np.array(point, dtype=float) for point in profile]
    cut = [points[0]]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        for other in (before, after):
            length = float(np.linalg.norm(other - corner))
            cut.append(corner + (other - corner) * min(rounding / max(length, 1e-9), 0.45))
    return [*cut, points[-1]]
