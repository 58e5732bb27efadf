"""The text side of a generator's cross-attention: its vectors for the tokens of some words of a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..array_codec import decode_arrays, encode_arrays
from ..judge import Query
from ..observation import Labels, Observation, QueryShape

if TYPE_CHECKING:
    from ..image import Image

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class TextAttention(Observation, capability="attention"):
    """The vectors of a generator's text encoder and cross-attention for the tokens of some words of a prompt.

    No image is involved: keys and values of cross-attention depend only on the text.

    Attributes:
        words: int64 (n,), for each token the place of its word in the query's texts after the prompt, from 0.
        embeddings: float32 (n, d), the tokens' rows of the text encoder's embedding matrix.
        states: float32 (n, c), the text encoder's states of the tokens in the prompt, as the denoiser gets them.
        keys: For each cross-attention layer, in the order of the network's modules, float32 (heads, n, size of a
            head).
        values: Likewise, of the same layers.
    """

    queries = (QueryShape(texts=(2, inf), role="the prompt, then words in it"),)

    words: NDArray[np.int64]
    embeddings: Floats
    states: Floats
    keys: Mapping[str, Floats]
    values: Mapping[str, Floats]

    def check(self, query: Query) -> None:
        """Raise if shapes do not fit each other, or a word of the query has no token."""
        tokens = len(self.words)
        for name, array in (("embeddings", self.embeddings), ("states", self.states)):
            if array.ndim != 2 or len(array) != tokens:
                raise ValueError(f"gave {name} of shape {array.shape} for {tokens} tokens")
        if not self.keys or list(self.keys) != list(self.values):
            raise ValueError(f"gave keys of {len(self.keys)} layers and values of {len(self.values)}")
        for name, layers in (("keys", self.keys), ("values", self.values)):
            for layer, array in layers.items():
                if array.ndim != 3 or array.shape[1] != tokens:
                    raise ValueError(f"gave {name} of shape {array.shape} for {tokens} tokens in {layer}")
        expected = set(range(len(query.texts) - 1))
        if set(self.words.tolist()) != expected:
            raise ValueError(f"gave tokens of words {sorted(set(self.words.tolist()))} of {len(expected)} words")

    def to_bytes(self, labels: Labels | None = None) -> bytes:
        """Return the stored form: a safetensors file."""
        arrays: dict[str, NDArray[Any]] = {
            "words": np.asarray(self.words, np.int64),
            "embeddings": np.asarray(self.embeddings, np.float32),
            "states": np.asarray(self.states, np.float32),
        }
        for kind, layers in (("key", self.keys), ("value", self.values)):
            for place, (layer, array) in enumerate(layers.items()):
                arrays[f"{kind} {place} {layer}"] = np.asarray(array, np.float32)
        return encode_arrays(arrays)

    @classmethod
    def from_bytes(cls, data: bytes, labels: Labels | None) -> Self:
        """Return the observation that `to_bytes` wrote."""
        arrays = decode_arrays(data)
        words, embeddings, states = (arrays.pop(name) for name in ("words", "embeddings", "states"))
        layers: dict[str, dict[str, Floats]] = {"key": {}, "value": {}}
        for name in sorted(arrays, key=lambda name: int(name.split(" ", 2)[1])):  # order of the network's modules
            kind, _, layer = name.split(" ", 2)
            layers[kind][layer] = arrays[name]
        return cls(words, embeddings, states, layers["key"], layers["value"])

    @classmethod
    def sample(cls, query: Query, colour: NDArray[np.float32], labels: Labels) -> Self:
        """Return one token for each word, with vectors that depend on the colour and the word's place."""
        n = len(query.texts) - 1
        vectors = np.stack([np.roll(colour, place) for place in range(n)]).astype(np.float32)
        layers = {"first": vectors[None], "second": np.stack([vectors, vectors + 1])}
        return cls(np.arange(n), vectors, vectors + 1, layers, layers)

    @classmethod
    def sample_queries(cls, images: Sequence[Image], text: str) -> list[Query]:
        """Return a query about the first and the last word of the text."""
        words = text.split()
        return [Query((), (text, words[0], words[-1]))]
