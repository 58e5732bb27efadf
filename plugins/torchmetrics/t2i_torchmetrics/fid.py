"""The metric `fid`: the Frechet distance of two sets' features, each modelled as a Gaussian."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Failure, NeedJudge, Note, Row, Setup, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.fd_infinity import POINTS, extrapolate, list_sizes
from t2i_torchmetrics.images import Seen
from t2i_torchmetrics.options import FidOptions
from t2i_torchmetrics.reference import is_statistics
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.sides import GENERATED, JUDGES, Distance, refuse_other_judge
from t2i_torchmetrics.statistics_file import read_statistics
from t2i_torchmetrics.vectors import Floats, draw_subset, draw_uniform, stack

_AT_A_TIME = 1024


@dataclass(frozen=True)
class Gaussian:
    """Mean and unbiased covariance of n vectors with d dimensions.

    Attributes:
        mean: (d,).
        covariance: (d, d); None if `rows` represent it.
        n: Number of vectors; None if it is not known.
        rows: (n, d), if n <= d: the centred vectors divided by (n - 1)^(1/2), so that rows.T @ rows is the
            covariance. Computations with few rows are faster.
    """

    n: int | None
    mean: Floats
    covariance: Floats | None
    rows: Floats | None = None

    @classmethod
    def of(cls, vectors: Iterable[NDArray[np.float32]]) -> Gaussian:
        """Compute the Gaussian in one pass with constant memory. Raises ValueError for fewer than two vectors."""
        waiting = iter(vectors)
        first = list(islice(waiting, 2))
        if len(first) < 2:
            raise ValueError("a covariance needs at least two images")
        d = len(first[0])
        x = stack([*first, *islice(waiting, d - 1)])  # up to d + 1 vectors
        n, origin = len(x), x.mean(axis=0)
        x -= origin
        if n <= d:
            return cls(n, origin, None, x / np.sqrt(n - 1))
        total, products = (
            x.sum(axis=0),
            x.T @ x,
        )  # relative to a point near the mean; relative to 0, products would cancel
        while some := list(islice(waiting, _AT_A_TIME)):
            x = stack(some) - origin
            n += len(x)
            total += x.sum(axis=0)
            products += x.T @ x
        return cls(n, origin + total / n, (products - np.outer(total, total) / n) / (n - 1))

    @cached_property
    def factor(self) -> Floats:
        """A matrix with factor.T @ factor equal to the covariance; for few vectors, one row per vector."""
        if self.covariance is None:
            assert self.rows is not None
            return self.rows
        try:
            return np.asarray(np.linalg.cholesky(self.covariance).T, np.float64)
        except np.linalg.LinAlgError:  # not of full rank, for example if a feature is constant
            values, vectors = np.linalg.eigh(self.covariance)
            return np.sqrt(values.clip(0))[:, None] * vectors.T

    @property
    def variance(self) -> float:
        """The trace of the covariance."""
        if self.covariance is not None:
            return float(np.trace(self.covariance))
        return float(np.square(self.factor).sum())


def frechet_distance(a: Gaussian, b: Gaussian) -> float:
    """Return |m_a - m_b|^2 + tr(A + B - 2 (A B)^(1/2)), at least 0.

    With A = F'F and B = G'G, the trace of the root is the sum of the singular values of F G', computed as the
    roots of the eigenvalues of its symmetric square, whose size is at most the number of vectors.

    Tests compare the value with torchmetrics. torchmetrics computes the eigenvalues of A B, which is asymmetric
    and as large as the number of features. That takes 30 times longer for many images, and even longer for few; an
    interval needs 21 roots. In both methods, an eigenvalue that is 0 up to rounding adds 1e-8 of the largest root.

    References:
        Heusel et al. (2017), equation 6.
    """
    if a.covariance is not None:
        square = b.factor @ a.covariance @ b.factor.T
    else:
        crossed = a.factor @ b.factor.T
        square = crossed @ crossed.T if len(a.factor) <= len(b.factor) else crossed.T @ crossed
    root = np.sqrt(np.linalg.eigvalsh(square).clip(0)).sum()
    shift = a.mean - b.mean
    return max(float(shift @ shift + a.variance + b.variance - 2 * root), 0.0)


class FrechetDistance(Distance):
    """FID: the Frechet distance of a model's images from reference images."""

    name = "fid"
    options: FidOptions

    def __init__(self, setup: Setup[FidOptions]) -> None:
        super().__init__(setup)
        if self.options.network is not None:
            self.judges = {"features": JUDGES[self.options.network]}

    def check_judges(self, judges: Mapping[str, NeedJudge]) -> None:
        """Refuse another judge than that of the option `network`. Raises BadOption."""
        refuse_other_judge(self.name, self.options.network, judges[GENERATED].name)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for a model's set of images."""
        seen, chosen = Seen(), RepetitionFilter(self.options.repetitions)
        statistics = self._statistics
        reference = statistics or self.prepare_reference(unit, Gaussian.of)
        try:
            generated = Gaussian.of(vector for _, vector in self.read(unit, seen, chosen))
        except ValueError as error:
            yield Failure(f"fid: {error}")
            return
        if generated.mean.shape != reference.mean.shape:
            yield Failure(
                f"fid: {self.options.reference} has {len(reference.mean)} features, and the judge gives "
                f"{len(generated.mean)}; it belongs to another network"
            )
            return
        if self.options.infinity:
            images, features = generated.n or 0, len(reference.mean)
            if list_sizes(images)[0] <= features:
                yield Failure(
                    f"fid: {images} images for {features} features; infinity=true needs at least "
                    f"{10 * (features + 1)}, so that the smallest subset has more images than features"
                )
                return
            value = self._extrapolate(unit, reference)
            yield Row("fid", max(value, 0.0))
            yield from map(Note, remarks.describe_infinity(images, value))
            yield from map(Note, remarks.warn_fid(None, reference.n, features))
        else:
            yield Row("fid", frechet_distance(generated, reference))
            yield from map(Note, remarks.warn_fid(generated.n, reference.n, len(reference.mean)))
        yield from map(Note, remarks.count_repetitions(self.name, chosen.dropped))
        yield from map(Note, remarks.describe_network(self.name, unit.judges[GENERATED].name))
        if statistics is None:
            yield from map(Note, remarks.warn_shared(self.name, self.count_shared(unit)))
            yield from self.warn_differences(seen)
        else:
            yield Note(remarks.describe_statistics(self.options.reference, len(reference.mean)))

    def _extrapolate(self, unit: Unit, reference: Gaussian) -> float:
        """Return the distance extrapolated to infinitely many generated images; below 0 by chance."""
        chosen = RepetitionFilter(self.options.repetitions)
        vectors, draws = [], []
        for sample, vector in self.read(unit, Seen(), chosen):
            vectors.append(vector)
            draws.append(draw_uniform(sample, self.options.seed, POINTS))
        drawn, sizes = np.stack(draws), list_sizes(len(vectors))
        distances = [
            frechet_distance(Gaussian.of(vectors[i] for i in draw_subset(drawn[:, point], int(size))), reference)
            for point, size in enumerate(sizes)
        ]
        return extrapolate(sizes, distances)

    @cached_property
    def _statistics(self) -> Gaussian | None:
        """The reference's Gaussian, if a file has it."""
        if not is_statistics(self.options.reference):
            return None
        return Gaussian(None, *read_statistics(self.options.reference))
