"""The metric `prdc`: precision, recall, density and coverage of a model's images against reference images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Failure, Note, Row, Sample, Unit

from t2i_torchmetrics import remarks
from t2i_torchmetrics.images import Seen
from t2i_torchmetrics.neighbourhoods import (
    Neighbourhoods,
    PrdcScores,
    find_neighbourhoods,
    find_radii,
    score_images,
)
from t2i_torchmetrics.options import PrdcOptions
from t2i_torchmetrics.repetitions import RepetitionFilter
from t2i_torchmetrics.sides import REFERENCE, Distance
from t2i_torchmetrics.subsets import WholeSets
from t2i_torchmetrics.vectors import Floats, stack


@dataclass(frozen=True)
class _ReferenceRadii:
    """Features of the reference images, and what was found beside them.

    Attributes:
        vectors: Shape (n, d).
        radii: Their squared radii, shape (n,).
        wholes: The neighbourhoods of whole sets; None where there are too many pairs to keep.
    """

    vectors: Floats
    radii: Floats
    wholes: WholeSets[Neighbourhoods | None]


class PrecisionRecall(Distance):
    """Precision and density: do images lie where reference images lie? Recall and coverage: in all such places?"""

    name = "prdc"
    options: PrdcOptions

    def measure(self, unit: Unit) -> Iterator[Row | Note | Failure]:
        """Yield a row for each of the four scores of a model's set of images."""
        seen, chosen = Seen(), RepetitionFilter(self.options.repetitions)
        samples, vectors = [], []
        for sample, vector in self.read(unit, seen, chosen):
            samples.append(sample)
            vectors.append(vector)
        references = len(unit.shared[REFERENCE])
        fewer, side = min((len(samples), "generated"), (references, "reference"))
        if fewer <= self.options.neighbours:
            yield Failure(
                f"prdc: {fewer} {side} images; more than {self.options.neighbours} are needed (option neighbours)"
            )
            return
        scores = self._score(self.prepare_reference(unit, self._prepare), samples, vectors)
        for name, value in scores._asdict().items():
            yield Row(name, value)
        yield from map(Note, remarks.warn_prdc(len(samples), references))
        yield from self.note_images(unit, seen, chosen)

    def _prepare(self, read: Iterable[NDArray[np.float32]]) -> _ReferenceRadii:
        vectors = stack(list(read))
        return _ReferenceRadii(vectors, find_radii(vectors, self.options.neighbours), WholeSets())

    def _score(
        self, reference: _ReferenceRadii, samples: Sequence[Sample], vectors: Sequence[NDArray[np.float32]]
    ) -> PrdcScores:
        sides = reference.vectors, reference.radii, stack(vectors), self.options.neighbours
        found, kept = reference.wholes.find(samples, lambda: find_neighbourhoods(*sides))
        return (found.score(kept) if found else None) or score_images(*sides)
