"""The metric `fid`: the Frechet distance of two sets' features, each taken for a Gaussian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from t2i_core import Answer, Failure, Note, Row, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.images import Seen
from t2i_torchmetrics.sides import REFERENCE, Distance
from t2i_torchmetrics.vectors import Floats, stacked

_AT_A_TIME = 1024


@dataclass(frozen=True)
class Gaussian:
    """Mean and covariance (unbiased) of n vectors."""

    n: int
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, vectors: Iterable[NDArray[np.float32]]) -> Gaussian:
        """Work them out in one pass, so that memory does not grow with the number. Raises ValueError below two."""
        waiting, n = iter(vectors), 0
        origin = total = products = np.zeros(0)
        while some := list(islice(waiting, _AT_A_TIME)):
            x = stacked(some)
            if n == 0:
                origin = x.mean(axis=0)  # any point near the mean: products about 0 would cancel
                total, products = np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2)
            x -= origin
            n += len(x)
            total += x.sum(axis=0)
            products += x.T @ x
        if n < 2:
            raise ValueError("a covariance wants at least two images")
        return cls(n, origin + total / n, (products - np.outer(total, total) / n) / (n - 1))

    @cached_property
    def root(self) -> Floats:
        """The symmetric square root of the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        root: Floats = (vectors * np.sqrt(values.clip(0))) @ vectors.T
        return root


def frechet_distance(a: Gaussian, b: Gaussian) -> float:
    """Return |m_a - m_b|^2 + tr(A + B - 2 (A B)^(1/2)): Heusel et al. (2017), equation 6.

    The trace of the root is that of (B^(1/2) A B^(1/2))^(1/2), a symmetric matrix: the same number, but 30 times
    sooner than from the eigenvalues of A B, and real. At least 0.
    """
    shift = a.mean - b.mean
    spectrum = np.linalg.eigvalsh(b.root @ a.covariance @ b.root)
    traces = np.trace(a.covariance) + np.trace(b.covariance) - 2 * np.sqrt(spectrum.clip(0)).sum()
    return max(float(shift @ shift + traces), 0.0)


class FrechetDistance(Distance):
    """How far a model's images are from reference images."""

    name = "fid"
    _known: tuple[Sequence[Answer], Gaussian] | None = None

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Turn a model's set into one row."""
        seen = Seen()
        reference = self._reference(unit.shared[REFERENCE])
        try:
            generated = Gaussian.of(vector for _, vector in self.read(unit, seen))
        except ValueError as error:
            yield Failure(f"fid: {error}")
            return
        yield Row("fid", frechet_distance(generated, reference))
        yield from map(Note, remarks.few_for_fid(generated.n, reference.n, len(reference.mean)))
        yield from self.unlike(seen)

    def _reference(self, answers: Sequence[Answer]) -> Gaussian:
        """The reference's Gaussian, worked out once for all the sets that are measured against it."""
        if self._known is None or self._known[0] is not answers:
            self._known = (answers, Gaussian.of(answer.observation.values for answer in answers))
        return self._known[1]
