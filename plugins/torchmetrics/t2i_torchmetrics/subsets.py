"""Results for whole sets, which serve the subsets that the jackknife measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Sample

WholeT = TypeVar("WholeT")


class WholeSets(Generic[WholeT]):
    """The last whole set of each model, of which any set of most of its images is a subset."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[dict[tuple[str, int], int], WholeT]] = {}

    def find(self, samples: Sequence[Sample], compute: Callable[[], WholeT]) -> tuple[WholeT, NDArray[np.bool_]]:
        """Return what was computed for the whole set of some samples, and which of its images they are.

        Args:
            samples: The samples of one model.
            compute: Computes it for these samples, if they are not in a known set.

        Returns:
            The result for the whole set, and True for each of its images that is among the samples.
        """
        model = samples[0].model
        keys = [(sample.prompt.id, sample.seed) for sample in samples]
        places, whole = self._known.get(model, ({}, None))
        if whole is None or len(places) > 2 * len(keys) or not places.keys() >= set(keys):
            places, whole = {key: place for place, key in enumerate(keys)}, compute()
            if len(places) >= len(self._known.get(model, ({}, None))[0]):
                self._known[model] = (places, whole)
        kept = np.zeros(len(places), np.bool_)
        kept[[places[key] for key in keys]] = True
        return whole, kept
