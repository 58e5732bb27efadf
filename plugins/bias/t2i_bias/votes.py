"""Answers from embeddings: the category nearest to each image, and the category that a prompt votes for."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vote = Literal["probability", "cosine", "majority"]
Ties = Literal["first", "last"]


def cosines(images: Floats, texts: Floats) -> Floats:
    """Return the cosines between images and texts.

    Args:
        images: Vectors of shape (images, d), none of them 0.
        texts: Vectors of shape (texts, d), none of them 0.

    Returns:
        Cosines of shape (images, texts).
    """
    images = images / np.linalg.norm(images, axis=1, keepdims=True)
    texts = texts / np.linalg.norm(texts, axis=1, keepdims=True)
    # einsum, because for arrays this small the threads of a BLAS product cost more than they save
    return np.asarray(np.einsum("id,td->it", images, texts))


def probabilities(cosine: Floats, scale: float) -> Floats:
    """Return the softmax of scale x cosine over the last axis."""
    logits = scale * (cosine - cosine.max(axis=-1, keepdims=True))
    raised = np.exp(logits)
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


ALIKE = 1e-9
"""Difference up to which values count as equal, so that the order of images does not decide a tie."""


def find_best(values: Floats, ties: Ties = "last") -> NDArray[np.intp]:
    """Return the index of the largest value on the last axis, and of equal values the first or the last.

    As in the reference code, ties of the paper's group `gender` go to the last category (female), and those of
    `race` to the first.
    """
    best = values >= values.max(axis=-1, keepdims=True) - ALIKE
    if ties == "first":
        return np.asarray(best.argmax(axis=-1))
    return np.asarray(values.shape[-1] - 1 - best[..., ::-1].argmax(axis=-1))


def vote_of(cosine: Floats, scale: float, how: Vote, ties: Ties = "last") -> int:
    """Return the index of the category that a prompt votes for.

    Args:
        cosine: Cosines of shape (images, categories).
        scale: Factor from cosines to logits.
        how: The rule of the vote.
        ties: Which of equal categories gets the vote.
    """
    if how == "probability":
        means = probabilities(cosine, scale).mean(axis=0)
    elif how == "cosine":
        means = cosine.mean(axis=0)
    else:
        means = np.bincount(find_best(cosine, ties), minlength=cosine.shape[-1]).astype(np.float64)
    return int(find_best(means, ties))
