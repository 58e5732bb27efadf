"""From embeddings to answers: what each image is nearest to, and what a prompt's images vote for together."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vote = Literal["probability", "cosine", "majority"]


def cosines(images: Floats, texts: Floats) -> Floats:
    """Cosines (images, texts) of vectors (images, d) and (texts, d), of which none is 0."""
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)
    # no matrix product: threads of BLAS that wait for each other cost more than so few numbers
    return np.asarray(np.einsum("id,td->it", images, texts))


def probabilities(cosine: Floats, scale: float) -> Floats:
    """Softmax of scale x cosine over the last axis."""
    logits = scale * (cosine - cosine.max(axis=-1, keepdims=True))
    raised = np.exp(logits)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


ALIKE = 1e-9
"""Values that are so near to each other are equal: what order images came in must not decide a tie."""


def last_best(values: Floats) -> NDArray[np.intp]:
    """The index of the greatest of the last axis, of equal ones the last: ties go to female."""
    best = values >= values.max(axis=-1, keepdims=True) - ALIKE
    return np.asarray(values.shape[-1] - 1 - best[..., ::-1].argmax(axis=-1))


def vote_of(cosine: Floats, scale: float, how: Vote) -> int:
    """The category that a prompt's images (images, categories) vote for."""
    if how == "probability":
        means = probabilities(cosine, scale).mean(axis=0)
    elif how == "cosine":
        means = cosine.mean(axis=0)
    else:
        means = np.bincount(last_best(cosine), minlength=cosine.shape[-1]).astype(np.float64)
    return int(last_best(means))
