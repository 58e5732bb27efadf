"""Hard things: convex solids with rounded edges, for cars, furniture and machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import ConvexHull

from t2i_miniworld.shapes.balls import make_ball
from t2i_miniworld.shapes.mesh import Part, Point


def solid(material: str, points: Sequence[Point], rounding: float) -> Part:
    """Build the convex hull of balls of radius ``rounding`` around ``points``: a ball for one, a rod for two."""
    ball, _ = make_ball(1)
    cloud = (np.asarray(points, dtype=float)[:, None] + rounding * ball[None]).reshape(-1, 3)
    hull = ConvexHull(cloud, qhull_options="QbB Pp Qt")  # scaled to a cube for precision, quiet, in triangles
    corners = np.sort(hull.vertices)
    vertices, faces = cloud[corners], np.searchsorted(corners, hull.simplices)
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    inward = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
    faces[inward] = faces[inward, ::-1]
    return Part(vertices, faces, np.full(len(vertices), material))


def box(material: str, low: Point, high: Point, rounding: float = 0.03) -> Part:
    """Build a box between two corners; its edges are rounded inwards, so it keeps its outer size."""
    inner = [(lo + rounding, hi - rounding) for lo, hi in zip(low, high, strict=True)]
    return solid(material, [(x, y, z) for x in inner[0] for y in inner[1] for z in inner[2]], rounding)


def disc(material: str, centre: Point, axis: int, radius: float, width: float, rounding: float = 0.03) -> Part:
    """Build a round plate around ``centre`` with its axle along x (0), y (1) or z (2): a wheel, hub or lamp."""
    u, v = [a for a in range(3) if a != axis]
    points = []
    for angle in np.linspace(0, 2 * np.pi, 20, endpoint=False):
        for side in (-1, 1):
            point = list(centre)
            point[u] += (radius - rounding) * np.cos(angle)
            point[v] += (radius - rounding) * np.sin(angle)
            point[axis] += side * max(width / 2 - rounding, 0)
            points.append((point[0], point[1], point[2]))
    return solid(material, points, rounding)


def egg(material: str, centre: Point, radii: Point, yaw: float = 0.0, detail: int = 3) -> Part:
    """Build an ellipsoid turned about the vertical axis by ``yaw`` (rad): thin enough for an ear.

    It has 20 * 4^``detail`` triangles: 2 is enough for an eye or a toe.
    """
    ball, faces = make_ball(detail)
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    vertices = (ball * radii) @ turn.T + centre
    return Part(vertices, faces, np.full(len(vertices), material))


def mirrored(part: Part) -> list[Part]:
    """Return the part and its mirror image on the other side (y to -y)."""
    return [part, Part(part.vertices * (1, -1, 1), part.faces[:, ::-1], part.material)]
