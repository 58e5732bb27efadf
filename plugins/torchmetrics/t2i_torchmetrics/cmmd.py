"""The metric `cmmd`: the squared maximum mean discrepancy of two sets' embeddings under a Gaussian kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Failure, Note, Row, Unit

from t2i_torchmetrics.blocks import iterate_distances
from t2i_torchmetrics.images import Seen
from t2i_torchmetrics.options import CmmdOptions
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.sides import Distance
from t2i_torchmetrics.subsets import WholeSets
from t2i_torchmetrics.vectors import Floats, stack

SCALE = 1000
"""Factor on the squared discrepancy, as published."""


def normalise(vectors: Floats) -> Floats:
    """Return vectors of unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def sum_kernel(x: Floats, y: Floats, sigma: float) -> Floats:
    """Return for each row of x the sum of exp(-|x - y|^2 / (2 sigma^2)) over the rows of y, shape (n,)."""
    sums = np.empty(len(x))
    for rows, squares in iterate_distances(x, y):
        sums[rows] = np.exp(squares / (-2 * sigma**2)).sum(axis=1)
    return sums


@dataclass(frozen=True)
class KernelSums:
    """Sums of the kernel of one set, from which the discrepancy of a part follows without a new pass.

    Attributes:
        vectors: The set's embeddings, shape (n, d).
        own: For each image the sum over the set, shape (n,).
        crossed: For each image the sum over the reference, shape (n,).
        reference: The kernel's mean over pairs of reference images.
        references: Number of reference images.
        sigma: Width of the kernel.
    """

    vectors: Floats
    own: Floats
    crossed: Floats
    reference: float
    references: int
    sigma: float

    def measure(self, kept: NDArray[np.bool_]) -> float:
        """Return the discrepancy of a part of the set, times 1000; pairs of an image with itself count.

        Args:
            kept: True for the images of the part, shape (n,).

        References:
            Jayasumana et al. (2024), section 4, equations 3 and 4; the biased estimate of the published code.
        """
        n, left = int(kept.sum()), self.vectors[~kept]
        within = self.own.sum() - 2 * self.own[~kept].sum() + sum_kernel(left, left, self.sigma).sum()
        crossed = self.crossed[kept].sum() / (n * self.references)
        # sums of equal sets differ by rounding alone
        return max(float(SCALE * (within / n**2 + self.reference - 2 * crossed)), 0.0)


@dataclass(frozen=True)
class _EmbeddedReference:
    """Embeddings of the reference images, and what was summed with them.

    Attributes:
        vectors: Shape (n, d), of unit length.
        within: The kernel's mean over their pairs.
        wholes: The sums of whole sets.
    """

    vectors: Floats
    within: float
    wholes: WholeSets[KernelSums]


class ClipDiscrepancy(Distance):
    """CMMD: the Gaussian kernel distance of a model's images from reference images."""

    name = "cmmd"
    options: CmmdOptions

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for a model's set of images."""
        seen, chosen = Seen(), RepetitionFilter(self.options.repetitions)
        samples, vectors = [], []
        for sample, vector in self.read(unit, seen, chosen):
            samples.append(sample)
            vectors.append(vector)
        if len(samples) < 2:
            yield Failure("cmmd: a kernel distance needs at least two images")
            return
        reference = self.prepare_reference(unit, self._prepare)
        sums, kept = reference.wholes.find(samples, lambda: self._sum(normalise(stack(vectors)), reference))
        yield Row("cmmd", sums.measure(kept))
        yield from self.note_images(unit, seen, chosen)

    def _prepare(self, read: Iterable[NDArray[np.float32]]) -> _EmbeddedReference:
        vectors = normalise(stack(list(read)))
        within = float(sum_kernel(vectors, vectors, self.options.sigma).mean()) / len(vectors)
        return _EmbeddedReference(vectors, within, WholeSets())

    def _sum(self, vectors: Floats, reference: _EmbeddedReference) -> KernelSums:
        sigma = self.options.sigma
        own, crossed = (sum_kernel(vectors, each, sigma) for each in (vectors, reference.vectors))
        return KernelSums(vectors, own, crossed, reference.within, len(reference.vectors), sigma)
