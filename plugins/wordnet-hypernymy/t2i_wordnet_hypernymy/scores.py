"""ISP and SCS of one synset's images, and reference values of SCS.

References:
    Hypernymy paper, section 3.
"""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

Floats = NDArray[np.floating]


def in_subtree(logits: Floats, below: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each image the probability that it shows a class below the synset.

    Args:
        logits: Logits of shape (images, classes), before softmax.
        below: Indices of the classes A(s), shape (n,).

    Returns:
        Probabilities in [0, 1], float64 of shape (images,), with the precision of the logits' dtype. Their mean is
        the synset's ISP.
    """
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    # NumPy sums each row pairwise, so rounding stays below that of the exponentials
    share = odds.take(below, axis=1).sum(axis=1) / odds.sum(axis=1)
    return np.minimum(share, 1, dtype=np.float64)


def shares(logits: Floats, below: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return p_s(y|x) of each image, the softmax over the classes A(s) alone.

    Args:
        logits: Logits of shape (images, classes), before softmax.
        below: Indices of the classes A(s), shape (n,).

    Returns:
        Probabilities, float64 of shape (images, n).
    """
    logits = logits.take(below, axis=1)
    odds = np.exp(np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64))
    odds /= odds.sum(axis=1, keepdims=True)
    return odds


def divergences(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each image KL(p_s(y|x) || mean over images of p_s(y|x)), in nats.

    Args:
        p: Probabilities from `shares`, shape (images, n).

    Returns:
        Divergences between 0 and ln(images), float64 of shape (images,).
    """
    return np.maximum(rel_entr(p, p.mean(axis=0)).sum(axis=1), 0)


def coverage(logits: Floats, below: NDArray[np.intp]) -> float:
    """Return a synset's SCS in nats: the mean of its images' `divergences`, at most ln|A(s)|."""
    return float(divergences(shares(logits, below)).mean())


def marginal_entropy(p: NDArray[np.float64]) -> float:
    """Return the entropy of the mean over images of p_s(y|x), in nats: `conditional_entropy` plus the divergence.

    Args:
        p: Probabilities from `shares`, shape (images, n).

    Returns:
        The entropy, between 0 and ln n.

    References:
        Hypernymy paper, Appendix H: the average entropy of Table 12, a baseline for SCS.
    """
    return float(entr(p.mean(axis=0)).sum())


def conditional_entropy(p: NDArray[np.float64]) -> float:
    """Return the mean over images of the entropy of p_s(y|x), in nats: how unsure the classifier is of an image.

    Args:
        p: Probabilities from `shares`, shape (images, n).

    Returns:
        The entropy, between 0 and ln n.
    """
    return float(entr(p).sum(axis=1).mean())


@cache
def most(classes: int, images: int) -> float:
    """Return the upper bound of SCS, in nats."""
    return min(log(classes), log(images))


@cache
def balanced(classes: int, images: int) -> float:
    """Return SCS, in nats, of images that show the classes as evenly as possible, each with certainty."""
    each, more = divmod(images, classes)
    shares = np.array([(each + 1) / images] * more + [each / images] * (classes - more if each else 0))
    return float(-(shares * np.log(shares)).sum()) + 0.0


@cache
def uniform(classes: int, images: int) -> float:
    """Return the expected SCS, in nats, of images that each show a uniformly drawn class with certainty."""
    if classes == 1:
        return 0.0
    chance = -log(classes), log1p(-1 / classes)
    total = 0.0
    for k in range(1, images + 1):  # number of images that show one class: Bin(k; images, 1 / classes)
        ways = lgamma(images + 1) - lgamma(k + 1) - lgamma(images - k + 1)
        total -= exp(ways + k * chance[0] + (images - k) * chance[1]) * k / images * log(k / images)
    return classes * total
