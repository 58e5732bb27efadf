"""Multidimensional scaling: points in the plane that approximate given distances."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scale(distances: Floats, rounds: int = 300) -> tuple[Floats, float]:
    """Place n objects in the plane so that their distances approximate given ones.

    The method is metric scaling by SMACOF, as in scikit-learn's MDS. It starts at the classical solution instead
    of at random, so the result is deterministic. The points are rotated to their principal axes and mirrored so
    that the point furthest along each axis is on the positive side.

    Args:
        distances: Symmetric matrix, float64 of shape (n, n), 0 on the diagonal, not all 0.
        rounds: Maximum number of iterations.

    Returns:
        The points, float64 of shape (n, 2), and Kruskal's stress-1 of the fit.

    References:
        W. S. Torgerson: Multidimensional scaling: I. Theory and method. Psychometrika 17 (1952).
        J. de Leeuw: Applications of convex analysis to multidimensional scaling (1977).
    """
    n = len(distances)
    points = _classical(distances)
    for _ in range(rounds):
        fitted = _between(points)
        ratio = np.divide(distances, fitted, out=np.zeros_like(fitted), where=fitted > 0)
        step = -ratio
        step[np.diag_indices(n)] = ratio.sum(axis=1)
        moved = step @ points / n
        done = np.abs(moved - points).max() < 1e-9
        points = moved
        if done:
            break
    points = points - points.mean(axis=0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    furthest = np.abs(points).argmax(axis=0)
    points = points * np.where(points[furthest, [0, 1]] < 0, -1, 1)
    fitted = _between(points)
    total = float(np.square(fitted).sum())
    return points, float(np.sqrt(np.square(fitted - distances).sum() / total)) if total else float("nan")


def align_points(points: Floats, names: pd.Index, onto: pd.DataFrame) -> Floats:
    """Rotate and mirror points so that they match other points of the same names as well as possible.

    Args:
        points: float64 of shape (n, 2).
        names: The names of the points.
        onto: The points to match, with the columns object, x and y.

    Returns:
        float64 of shape (n, 2), with the same distances as `points`.

    References:
        P. H. Schoenemann: A generalized solution of the orthogonal Procrustes problem. Psychometrika 31 (1966).
    """
    others = onto.set_index("object")[["x", "y"]]
    shared = names.intersection(others.index)
    left, _, right = np.linalg.svd(points[names.get_indexer(shared)].T @ others.loc[shared].to_numpy())
    return np.asarray(points @ left @ right)


def _classical(distances: Floats) -> Floats:
    centred = np.square(distances)
    centred = -0.5 * (centred - centred.mean(axis=0) - centred.mean(axis=1, keepdims=True) + centred.mean())
    values, vectors = np.linalg.eigh(centred)
    return np.asarray(vectors[:, -2:][:, ::-1] * np.sqrt(np.clip(values[-2:][::-1], 0, None)))


def _between(points: Floats) -> Floats:
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2))
