"""The arithmetic of R-precision: whether an image is nearer to its own caption than to others.

References:
    Cho, Zala, Bansal: DALL-Eval, first version, section 4.3, after Xu et al.: AttnGAN (2018).
"""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

ROUNDING = 1e-6
"""Difference up to which cosines count as equal, because sums in another order round differently."""

_REFERENCE_SEED = 10


def unit_length(vectors: Vectors) -> Vectors:
    """Return vectors of shape (..., d) scaled to length 1; vectors of length 0 stay as they are."""
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors, dtype=np.float64))[..., None]
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def draw(rng: np.random.Generator, pool: int, own: int | None, negatives: int, repeats: int) -> NDArray[np.intp]:
    """Draw negative captions from a pool, in each repeat without replacement and without the own caption.

    Args:
        rng: The random generator.
        pool: Number of captions in the pool.
        own: Index of the own caption; None if it is not in the pool.
        negatives: Number of captions to draw in each repeat.
        repeats: Number of repeats.

    Returns:
        Indices of captions, shape (repeats, negatives).
    """
    others = pool - (own is not None)
    # draw with replacement and redraw the repeats with duplicates, which are few in a large pool: this is faster
    drawn = rng.integers(others, size=(repeats, negatives))
    ordered = np.sort(drawn, axis=1)
    for repeat in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        drawn[repeat] = rng.choice(others, negatives, replace=False, shuffle=False)
    return drawn if own is None else drawn + (drawn >= own)


def nearest(image: Vectors, own: Vectors, others: Vectors) -> NDArray[np.float64]:
    """Return for each repeat 1 if the own caption is the nearest, 0 if another is, and a fraction for ties.

    Args:
        image: Vector of the image, of any length, shape (d,).
        own: Vector of the own caption, of length 1, shape (d,).
        others: Vectors of the negatives, of length 1, shape (repeats, negatives, d).

    Returns:
        Values in [0, 1], shape (repeats,); 1 / (1 + k) if k negatives are tied with the own caption.
    """
    # einsum, because for arrays this small the threads of a BLAS product cost more than they save
    product = float(np.einsum("i,i", image, own))
    products = np.einsum("rnd,d->rn", others, image)
    rounding = ROUNDING * float(np.einsum("i,i", image, image)) ** 0.5
    most = products.max(axis=1)
    if (most < product - rounding).all():
        return np.ones(len(others))
    ties = (np.abs(products - product) <= rounding).sum(axis=1)
    return np.where(most > product + rounding, 0.0, 1 / (1 + ties))


def reference_draws(images: int, negatives: int, repeats: int) -> NDArray[np.int32]:
    """Return the draws of the reference code: with replacement from all captions, including the own one.

    Returns:
        Indices of captions, shape (repeats, images, negatives).
    """
    rng, numbers = Random(_REFERENCE_SEED), range(images)
    drawn = [rng.choices(numbers, k=negatives) for _ in range(repeats * images)]
    return np.array(drawn, np.int32).reshape(repeats, images, negatives)


def reference_nearest(
    image: Vectors, captions: Vectors, own: int, draws: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return for each repeat 1 if no drawn caption has a larger product with the image than its own, otherwise 0.

    Args:
        image: Vector of the image, shape (d,).
        captions: Vectors of all captions, not normalised, shape (captions, d).
        own: Index of the image's own caption.
        draws: Indices of the drawn captions, shape (repeats, negatives).

    Returns:
        Values 0 or 1, shape (repeats,).
    """
    products = np.einsum("rnd,d->rn", captions[draws], image)
    # the own caption, drawn again, does not count as larger
    larger = (products > np.einsum("i,i", captions[own], image)) & (draws != own)
    return 1.0 - larger.any(axis=1)
