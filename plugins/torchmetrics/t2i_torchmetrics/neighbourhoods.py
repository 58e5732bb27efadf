"""Precision, recall, density and coverage from the neighbours of each image.

An image lies near a second one if it is closer than the second one's k-th nearest image of the same set. The
comparison is strict, so an image with k copies has nobody near it.

References:
    T. Kynkäänniemi et al., Improved Precision and Recall Metric for Assessing Generative Models (2019), section 3.
    M. F. Naeem et al., Reliable Fidelity and Diversity Metrics for Generative Models (2020), sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from t2i_torchmetrics.blocks import iterate_distances
from t2i_torchmetrics.vectors import Floats

_SPARE = 24
"""Number of neighbours that are kept beyond the k-th, so that images can be left out without a new search."""


_MOST_PAIRS = 1 << 23
"""Number of pairs that are kept: they take 200 MB."""


class PrdcScores(NamedTuple):
    """The four scores, in [0, 1]; density may exceed 1."""

    precision: float
    recall: float
    density: float
    coverage: float


@dataclass(frozen=True)
class Neighbourhoods:
    """The images of two sets that may lie near each other.

    Attributes:
        k: The neighbour whose distance is the radius.
        reals: Number of reference images.
        near: Squared distances from each generated image to its nearest generated ones, itself first, ascending,
            shape (n, neighbours).
        neighbours: Their indices, of the same shape.
        in_real: Pairs of indices (reference image, generated image): the second lies near the first, shape (p, 2).
        in_generated: Pairs of the same form in which the first may lie near the second, shape (q, 2).
        distances: Squared distances of these pairs, shape (q,).
    """

    k: int
    reals: int
    near: Floats
    neighbours: NDArray[np.intp]
    in_real: NDArray[np.intp]
    in_generated: NDArray[np.intp]
    distances: Floats

    def score(self, kept: NDArray[np.bool_]) -> PrdcScores | None:
        """Return the scores of some of the generated images.

        Args:
            kept: True for the images that count, shape (n,); more than k.

        Returns:
            The scores; None if more are left out than the kept neighbours allow.
        """
        rank = kept[self.neighbours].cumsum(axis=1)
        if (rank[kept, -1] <= self.k).any():
            return None
        radii = np.take_along_axis(self.near, (rank > self.k).argmax(axis=1)[:, None], axis=1)[:, 0]
        reals, generated = self.in_real[kept[self.in_real[:, 1]]].T
        holders = np.bincount(generated, minlength=len(kept))[kept]
        found, holding = self.in_generated.T
        recalled = found[kept[holding] & (self.distances < radii[holding])]
        return PrdcScores(
            precision=float((holders > 0).mean()),
            recall=len(np.unique(recalled)) / self.reals,
            density=float(holders.mean()) / self.k,
            coverage=len(np.unique(reals)) / self.reals,
        )


def find_radii(vectors: Floats, k: int) -> Floats:
    """Return the squared distance of each vector to its k-th nearest other one, shape (n,).

    Args:
        vectors: Shape (n, d), n greater than k.
        k: The neighbour.
    """
    radii = np.empty(len(vectors))
    for rows, squares in iterate_distances(vectors, vectors):
        squares[np.arange(len(squares)), np.arange(rows.start, rows.stop)] = 0
        radii[rows] = np.partition(squares, k, axis=1)[:, k]
    return radii


def find_neighbourhoods(real: Floats, radii: Floats, generated: Floats, k: int) -> Neighbourhoods | None:
    """Return which images of two sets may lie near each other; None if there are too many such pairs to keep.

    Args:
        real: Features of the reference images, shape (n, d).
        radii: Their squared radii, by `find_radii`.
        generated: Features of the generated images, shape (m, d), m greater than k.
        k: The neighbour whose distance is the radius.
    """
    depth = min(len(generated), k + 1 + _SPARE)
    near = np.empty((len(generated), depth))
    neighbours = np.empty((len(generated), depth), np.intp)
    for rows, squares in iterate_distances(generated, generated):
        squares[np.arange(len(squares)), np.arange(rows.start, rows.stop)] = 0
        nearest = np.argpartition(squares, depth - 1, axis=1)[:, :depth]
        found = np.take_along_axis(squares, nearest, axis=1)
        order = np.argsort(found, axis=1)
        near[rows], neighbours[rows] = (np.take_along_axis(each, order, axis=1) for each in (found, nearest))
    in_real, in_generated, distances, pairs = [], [], [], 0
    for rows, squares in iterate_distances(real, generated):
        first = np.array([rows.start, 0])
        in_real.append(first + np.argwhere(squares < radii[rows, None]))
        within = squares < near[:, -1]
        in_generated.append(first + np.argwhere(within))
        distances.append(squares[within])
        pairs += len(in_real[-1]) + len(in_generated[-1])
        if pairs > _MOST_PAIRS:
            return None
    return Neighbourhoods(
        k,
        len(real),
        near,
        neighbours,
        np.concatenate(in_real),
        np.concatenate(in_generated),
        np.concatenate(distances),
    )


def score_images(real: Floats, radii: Floats, generated: Floats, k: int) -> PrdcScores:
    """Return the scores of a set without keeping any pair; see `find_neighbourhoods` for the arguments."""
    of_generated = find_radii(generated, k)
    holders, covered, recalled = np.zeros(len(generated)), 0, 0
    for rows, squares in iterate_distances(real, generated):
        within = squares < radii[rows, None]
        holders += within.sum(axis=0)
        covered += int(within.any(axis=1).sum())
        recalled += int((squares < of_generated).any(axis=1).sum())
    return PrdcScores(
        precision=float((holders > 0).mean()),
        recall=recalled / len(real),
        density=float(holders.mean()) / k,
        coverage=covered / len(real),
    )
