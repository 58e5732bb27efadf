"""N-grams of tokenised captions."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

MAX_N = 4

NGram = tuple[str, ...]


@lru_cache(maxsize=4096)
def count_ngrams(tokens: str) -> Counter[NGram]:
    """Return how often each sequence of 1 to 4 words occurs in a tokenised caption; do not change the counter."""
    words = tokens.split()
    return Counter(tuple(words[at : at + n]) for n in range(1, MAX_N + 1) for at in range(len(words) - n + 1))
