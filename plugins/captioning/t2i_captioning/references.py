"""The references of a run's prompts, and the document frequencies of their n-grams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from t2i_core.api.prompt import Prompt

from t2i_captioning.ngrams import NGram, count_ngrams
from t2i_captioning.ptb import tokenize

tokenize_reference = lru_cache(maxsize=200_000)(tokenize)


def list_references(prompt: Prompt, which: str) -> tuple[str, ...]:
    """Return the captions that a prompt's image is compared with (`which`: see `CaptionOptions.references`)."""
    return prompt.references if prompt.references and which == "all" else (prompt.text,)


class InverseFrequencies:
    """Weights of n-grams: the logarithm of the number of images by that of the images with the n-gram.

    Prompts with the same references count as one image, so that the weights do not change if several captions of
    an image are prompts.

    Args:
        references: The references of each prompt.

    Attributes:
        images: Number of different images.
    """

    def __init__(self, references: Iterable[tuple[str, ...]]) -> None:
        different = dict.fromkeys(references)
        self.images = len(different)
        counts: Counter[NGram] = Counter()
        for captions in different:
            counts.update({gram for caption in captions for gram in count_ngrams(tokenize_reference(caption))})
        self._log_images = math.log(self.images)
        self._logs: Mapping[NGram, float] = {gram: math.log(count) for gram, count in counts.items()}

    def __call__(self, gram: NGram) -> float:
        """Return the weight of an n-gram; that of one that no reference has is the highest."""
        return self._log_images - self._logs.get(gram, 0.0)
