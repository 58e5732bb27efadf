"""Hulls and balls are closed, look outwards and hold what they should."""

import numpy as np
import pytest
from t2i_miniworld.shapes.convex import ball, hull


def closed(vertices, faces):
    """Whether each edge has one face on either side, every corner is used, and it is one piece without holes."""
    edges = {tuple(edge) for edge in faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).tolist()}
    return (
        len(edges) == 3 * len(faces)
        and {(b, a) for a, b in edges} == edges
        and sorted({a for a, _ in edges}) == list(range(len(vertices)))
        and len(vertices) - len(edges) // 2 + len(faces) == 2
    )


def beyond(vertices, faces, points):
    """How far points (N, 3) stand out of the outer side of any face (negative: inside of all)."""
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return ((points[:, None] - a) * normals).sum(axis=2).max()


@pytest.mark.parametrize("detail", [0, 1, 2, 3])
def test_a_ball_is_round(detail):
    vertices, faces = ball(detail)
    assert len(faces) == 20 * 4**detail
    assert closed(vertices, faces)
    assert np.linalg.norm(vertices, axis=1) == pytest.approx(1)
    assert beyond(vertices, faces, vertices) < 1e-12
    assert beyond(vertices, faces, np.zeros((1, 3))) < -0.75


def test_a_hull_holds_all_points_and_no_more():
    rng = np.random.default_rng(0)
    for count in (4, 10, 300):
        points = rng.normal(size=(count, 3)) * (3, 1, 0.2) + (5, -2, 1)
        vertices, faces = hull(points)
        assert closed(vertices, faces)
        assert beyond(vertices, faces, points) < 1e-9
        assert {tuple(corner) for corner in vertices.tolist()} <= {tuple(point) for point in points.tolist()}


def test_a_hull_of_balls_is_as_long_as_they_reach():
    vertices, faces = hull((np.array([[0.0, 0, 0], [4, 0, 0]])[:, None] + ball(1)[0]).reshape(-1, 3))
    assert closed(vertices, faces)
    assert np.ptp(vertices, axis=0) == pytest.approx([4 + 2 * ball(1)[0][:, 0].max(), 2, 2], abs=0.2)
