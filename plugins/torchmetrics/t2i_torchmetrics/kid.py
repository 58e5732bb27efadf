"""The metric `kid`: the squared maximum mean discrepancy of two sets' features under a cubic kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from t2i_core.api import Failure, NeedJudge, Note, Row, Setup, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.images import Seen
from t2i_torchmetrics.options import KidOptions
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.sides import GENERATED, JUDGES, Distance, refuse_other_judge
from t2i_torchmetrics.vectors import Floats, draw_subset, draw_uniform, stack


def kernel(x: Floats, y: Floats) -> Floats:
    """Return (x y / d + 1)^3 for each pair of rows.

    References:
        Binkowski et al. (2018), section 4, equation 7.
    """
    inner: Floats = x @ y.T / x.shape[1] + 1
    return inner * inner * inner


def mean_within(x: Floats) -> float:
    """Return the kernel's mean over pairs of different rows of one set."""
    k = kernel(x, x)
    n = len(x)
    return float((k.sum() - np.trace(k)) / (n * (n - 1)))


def discrepancy(x: Floats, y: Floats, within_y: float | None = None) -> float:
    """Return the unbiased estimate of the squared MMD of two sets; `within_y` may be precomputed."""
    return mean_within(x) + (mean_within(y) if within_y is None else within_y) - 2 * float(kernel(x, y).mean())


class KernelDistance(Distance):
    """KID: the kernel distance of a model's images from reference images, without bias."""

    name = "kid"
    options: KidOptions

    def __init__(self, setup: Setup[KidOptions]) -> None:
        super().__init__(setup)
        if self.options.network is not None:
            self.judges = {"features": JUDGES[self.options.network]}

    def check_judges(self, judges: Mapping[str, NeedJudge]) -> None:
        """Refuse another judge than that of the option `network`. Raises BadOption."""
        refuse_other_judge(self.name, self.options.network, judges[GENERATED].name)

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield one row for a model's set: the mean over subsets of both sides."""
        seen, chosen = Seen(), RepetitionFilter(self.options.repetitions)
        count = self.options.subsets
        reference = self.prepare_reference(unit, lambda read: _Reference(stack(list(read)), self.options))
        vectors, draws = [], []
        for sample, vector in self.read(unit, seen, chosen):
            vectors.append(vector)
            draws.append(draw_uniform(sample, self.options.seed, count))
        size = min(self.options.subset_size, len(vectors), len(reference.vectors))
        if size < 2:
            yield Failure("kid: a kernel distance needs at least two images")
            return
        generated, drawn = stack(vectors), np.stack(draws)
        found = [
            discrepancy(generated[draw_subset(drawn[:, i], size)], *reference.subset(i, size))
            for i in range(count)
        ]
        yield Row("kid", float(np.mean(found)))
        yield from map(Note, remarks.warn_kid(size, self.options.subset_size))
        yield from map(Note, remarks.describe_network(self.name, unit.judges[GENERATED].name))
        yield from self.note_images(unit, seen, chosen)


class _Reference:
    """The features of the reference images, and their subsets with precomputed kernel means."""

    def __init__(self, vectors: Floats, options: KidOptions) -> None:
        self.vectors = vectors
        self._draws = np.random.default_rng([options.seed, 1]).random((len(vectors), options.subsets))
        self._within: dict[tuple[int, int], float] = {}

    def subset(self, number: int, size: int) -> tuple[Floats, float]:
        """Return the vectors of one subset, and the kernel's mean within it."""
        vectors = self.vectors[draw_subset(self._draws[:, number], size)]
        if (number, size) not in self._within:
            self._within[number, size] = mean_within(vectors)
        return vectors, self._within[number, size]
