"""R-precision's arithmetic: whether an image is nearer to its own caption than to others.

Cho, Zala, Bansal: DALL-Eval, first version, section 4.3; after Xu et al.: AttnGAN (2018).
"""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

ROUNDING = 1e-6
"""Cosines of the same vectors may differ by so much, for their sums are taken in other orders."""

_REFERENCE_SEED = 10


def unit_length(vectors: Vectors) -> Vectors:
    """Vectors (..., d) of length 1. Those of length 0 stay."""
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors, dtype=np.float64))[..., None]
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def draw(rng: np.random.Generator, pool: int, own: int | None, negatives: int, repeats: int) -> NDArray[np.intp]:
    """Draw captions of a pool by number, (repeats, negatives): in a repeat none twice, and never the own one."""
    others = pool - (own is not None)
    # of many captions few are drawn twice: that is quicker to mend than to avoid
    drawn = rng.integers(others, size=(repeats, negatives))
    ordered = np.sort(drawn, axis=1)
    for repeat in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        drawn[repeat] = rng.choice(others, negatives, replace=False, shuffle=False)
    return drawn if own is None else drawn + (drawn >= own)


def nearest(image: Vectors, own: Vectors, others: Vectors) -> NDArray[np.float64]:
    """Return for each repeat 1 where the own caption is the nearest, 0 where another one is, and a share of a tie.

    image: (d,); own: (d,); others: (repeats, negatives, d); captions of length 1, which the image need not have
    """
    # no matrix product: of so few numbers, threads of BLAS that wait for each other cost more than they gain
    product = float(np.einsum("i,i", image, own))
    products = np.einsum("rnd,d->rn", others, image)
    rounding = ROUNDING * float(np.einsum("i,i", image, image)) ** 0.5
    most = products.max(axis=1)
    if (most < product - rounding).all():
        return np.ones(len(others))
    ties = (np.abs(products - product) <= rounding).sum(axis=1)
    return np.where(most > product + rounding, 0.0, 1 / (1 + ties))


def reference_draws(images: int, negatives: int, repeats: int) -> NDArray[np.int32]:
    """The reference's draws, (repeats, images, negatives): with replacement, the own caption among the rest."""
    rng, numbers = Random(_REFERENCE_SEED), range(images)
    drawn = [rng.choices(numbers, k=negatives) for _ in range(repeats * images)]
    return np.array(drawn, np.int32).reshape(repeats, images, negatives)


def reference_nearest(
    image: Vectors, captions: Vectors, own: int, draws: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return for each repeat 1 where no drawn caption has a larger product with the image than its own, else 0.

    image: (d,); captions: (captions, d), as the encoder gives them; draws: (repeats, negatives)
    """
    products = np.einsum("rnd,d->rn", captions[draws], image)
    # its own, drawn again, is no larger
    larger = (products > np.einsum("i,i", captions[own], image)) & (draws != own)
    return 1.0 - larger.any(axis=1)
