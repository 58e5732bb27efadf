"""Likelihoods of an image under each of several captions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..array_codec import decode_arrays, encode_arrays
from ..judge import Query
from ..observation import SOME, Labels, Observation, QueryShape


@dataclass(frozen=True)
class LikelihoodTerms(Observation, capability="likelihood"):
    """The terms of the likelihoods of one image under each of several captions.

    Attributes:
        terms: float64 arrays by name whose last axis is the caption (and first the trial, second the step, if
            there are trials and steps). The judge documents which terms there are. NaN where a caption was given
            up before this term was needed.
        calls: Number of evaluations of the model that it took.
    """

    queries = (QueryShape(images=1, texts=SOME, role="the candidate captions"),)

    terms: Mapping[str, NDArray[np.float64]]
    calls: int = 0

    def check(self, query: Query) -> None:
        """Raise if terms are not numbers, or there is not one per caption."""
        if not self.terms:
            raise ValueError("gave no terms")
        for term, array in self.terms.items():
            if np.isinf(array).any() or np.isnan(array).all():
                raise ValueError(f"gave terms {term!r} that are not numbers")
            if array.shape[-1:] != (len(query.texts),):
                raise ValueError(f"gave terms {term!r} of shape {array.shape} for {len(query.texts)} captions")

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: a safetensors file."""
        terms = {f"term:{name}": np.asarray(a, np.float64) for name, a in self.terms.items()}
        return encode_arrays({**terms, "calls": np.asarray([self.calls], np.int64)})

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        arrays = decode_arrays(data)
        calls = int(arrays.pop("calls")[0])
        return cls({name.removeprefix("term:"): a for name, a in arrays.items()}, calls)

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return a term that is higher for each next caption."""
        return cls({"score": np.arange(len(query.texts), dtype=np.float64)})
