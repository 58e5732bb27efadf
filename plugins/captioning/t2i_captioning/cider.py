"""CIDEr-D of tokenised captions, as in pycocoevalcap.

References:
    Vedantam, Zitnick, Parikh: CIDEr: Consensus-based Image Description Evaluation. CVPR 2015.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from t2i_captioning.ngrams import MAX_N, NGram, count_ngrams

SIGMA = 6.0
SCALE = 10.0


@dataclass(frozen=True)
class WeightedNGrams:
    """The n-grams of a caption, weighted by count and inverse document frequency.

    Attributes:
        weights: Weights by n-gram, for n from 1 to 4.
        norms: Euclidean norm of the weights, likewise.
        bigrams: Number of bigrams, which stands for the length.
    """

    weights: tuple[Mapping[NGram, float], ...]
    norms: tuple[float, ...]
    bigrams: int


def weigh_ngrams(tokens: str, idf: Callable[[NGram], float]) -> WeightedNGrams:
    """Return the weighted n-grams of a tokenised caption."""
    weights: list[dict[NGram, float]] = [{} for _ in range(MAX_N)]
    bigrams = 0
    for gram, count in count_ngrams(tokens).items():
        weights[len(gram) - 1][gram] = count * idf(gram)
        bigrams += count if len(gram) == 2 else 0
    norms = tuple(math.sqrt(sum(weight**2 for weight in each.values())) for each in weights)
    return WeightedNGrams(tuple(weights), norms, bigrams)


def compute_similarity(caption: WeightedNGrams, reference: WeightedNGrams) -> float:
    """Return the mean over n of the clipped cosines, reduced by the difference in length, from 0 to 1."""
    penalty = math.exp(-((caption.bigrams - reference.bigrams) ** 2) / (2 * SIGMA**2))
    total = 0.0
    for own, other, a, b in zip(caption.weights, reference.weights, caption.norms, reference.norms, strict=True):
        product = sum(min(weight, other[gram]) * other[gram] for gram, weight in own.items() if gram in other)
        total += product / (a * b) if a and b else product
    return penalty * total / MAX_N


def compute_cider(caption: str, references: Sequence[str], idf: Callable[[NGram], float]) -> float:
    """Return 10 times the mean similarity of a tokenised caption to its tokenised references."""
    own = weigh_ngrams(caption, idf)
    similarities = [compute_similarity(own, weigh_ngrams(each, idf)) for each in references]
    return SCALE * sum(similarities) / len(similarities)
