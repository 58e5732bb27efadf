"""BLEU-1 to BLEU-4 of tokenised captions, as in pycocoevalcap with the option `closest`.

References:
    Papineni et al.: BLEU: a Method for Automatic Evaluation of Machine Translation. ACL 2002.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from t2i_captioning.ngrams import MAX_N, NGram, count_ngrams

# the constants of pycocoevalcap, which keep a missing order from being a division by 0
_TINY, _SMALL = 1e-15, 1e-9


@dataclass(frozen=True)
class BleuCounts:
    """The counts of one caption.

    Attributes:
        matches: Number of n-grams that a reference has too, for n from 1 to 4.
        guesses: Number of n-grams, likewise.
        length: Number of words of the caption.
        reference_length: Number of words of the reference that is nearest in length, the shorter of two.
    """

    matches: tuple[int, ...]
    guesses: tuple[int, ...]
    length: int
    reference_length: int


def count_matches(caption: str, references: Sequence[str]) -> BleuCounts:
    """Return the counts of a tokenised caption against its tokenised references."""
    most: Counter[NGram] = Counter()
    for reference in references:
        most |= count_ngrams(reference)
    matches = [0] * MAX_N
    for gram, count in count_ngrams(caption).items():
        matches[len(gram) - 1] += min(count, most[gram])
    length = len(caption.split())
    nearest = min((abs(n - length), n) for n in (len(reference.split()) for reference in references))[1]
    return BleuCounts(tuple(matches), count_guesses(length), length, nearest)


def count_guesses(length: int) -> tuple[int, ...]:
    """Return the number of n-grams of a caption with that many words, for n from 1 to 4."""
    return tuple(max(0, length - n) for n in range(MAX_N))


def compute_bleu(
    matches: NDArray[np.float64], guesses: NDArray[np.float64], length: float, reference_length: float
) -> NDArray[np.float64]:
    """Return BLEU-1 to BLEU-4 of counts, which may be sums over captions, float64 of shape (4,)."""
    orders = np.arange(1, MAX_N + 1)
    precision = np.cumprod((matches + _TINY) / (guesses + _SMALL)) ** (1 / orders)
    ratio = (length + _TINY) / (reference_length + _SMALL)
    return precision * np.exp(1 - 1 / ratio) if ratio < 1 else precision
