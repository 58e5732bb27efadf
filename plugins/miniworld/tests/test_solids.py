"""Balls and convex solids are closed, and their triangles are counter-clockwise as seen from outside."""

import numpy as np
import pytest
from t2i_miniworld.shapes.balls import make_ball
from t2i_miniworld.shapes.solids import box, disc, solid


def find_faults(vertices, faces):
    """Return what is wrong with the surface of a convex thing."""
    edges = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    once = {tuple(edge) for edge in edges.tolist()}
    faults = []
    if len(once) != len(edges) or once != {(b, a) for a, b in once}:
        faults.append("an edge does not belong to two triangles that pass it in opposite directions")
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    if ((a - vertices.mean(axis=0)) * normals).sum(axis=1).min() <= 0:
        faults.append("a triangle shows its inner side")
    if set(faces.ravel().tolist()) != set(range(len(vertices))):
        faults.append("a vertex belongs to no triangle")
    return faults


@pytest.mark.parametrize("detail", [0, 1, 2, 3])
def test_a_ball_is_round_and_closed(detail):
    vertices, faces = make_ball(detail)
    assert (len(vertices), len(faces)) == (10 * 4**detail + 2, 20 * 4**detail)
    assert find_faults(vertices, faces) == []
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 1, rtol=1e-14)
    a, b = (vertices[faces[:, corner]] for corner in range(2))
    lengths = np.linalg.norm(a - b, axis=1)
    assert lengths.max() / lengths.min() < 1.3


@pytest.mark.parametrize(
    "part",
    [
        solid("body", [(0, 0, 0)], 0.5),
        solid("body", [(0, 0, 0), (1, 0, 0)], 0.1),
        box("body", (0, 0, 0), (3, 1, 0.2)),
        disc("body", (0, 0, 1), 1, 0.5, 0.2),
    ],
    ids=["ball", "rod", "box", "disc"],
)
def test_a_solid_is_closed(part):
    assert find_faults(part.vertices, part.faces) == []
    assert set(part.material) == {"body"}


def test_a_box_keeps_its_outer_size():
    part = box("body", (0, 0, 0), (3, 1, 0.5))
    assert part.vertices.min(axis=0).min() >= -1e-12
    assert (part.vertices.max(axis=0) <= np.array([3, 1, 0.5]) + 1e-12).all()
    np.testing.assert_allclose(np.ptp(part.vertices, axis=0), (3, 1, 0.5), rtol=0.02)
