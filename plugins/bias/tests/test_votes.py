"""Effects of scale, order and ties on votes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from t2i_bias.votes import cosines, find_best, probabilities, vote_of

WAYS = ("probability", "cosine", "majority")
VECTORS = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (9, 6), elements=st.floats(-1, 1)),
        arrays(np.float64, (n, 6), elements=st.floats(-1, 1)),
    )
)


def usable(images, texts):
    norms = np.concatenate([np.linalg.norm(images, axis=1), np.linalg.norm(texts, axis=1)])
    assume((norms > 1e-3).all())


def clear(cosine):
    """Assume that no vote is near a tie, which the last category would win in any order."""
    ordered = np.sort(cosine, axis=1)
    assume((ordered[:, -1] - ordered[:, -2] > 1e-6).all())
    for values in (probabilities(cosine, 100).mean(axis=0), cosine.mean(axis=0)):
        best = np.sort(values)
        assume(best[-1] - best[-2] > 1e-6)
    counts = np.sort(np.bincount(find_best(cosine), minlength=cosine.shape[1]))
    assume(counts[-1] > counts[-2])


@given(VECTORS, st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_length_of_vectors_does_not_matter(vectors, a, b):
    images, texts = vectors
    usable(images, texts)
    cosine = cosines(images, texts)
    np.testing.assert_allclose(cosines(a * images, b * texts), cosine, atol=1e-9)
    clear(cosine)
    for how in WAYS:
        assert vote_of(cosines(a * images, b * texts), 100, how) == vote_of(cosine, 100, how)


@given(VECTORS, st.randoms())
def test_the_order_of_categories_and_images_does_not_matter(vectors, random):
    images, texts = vectors
    usable(images, texts)
    cosine = cosines(images, texts)
    clear(cosine)
    order = random.sample(range(len(texts)), len(texts))
    mixed = cosine[random.sample(range(9), 9)][:, order]
    for how in WAYS:
        assert order[vote_of(mixed, 100, how)] == vote_of(cosine, 100, how)


@given(arrays(np.float64, (4, 3), elements=st.floats(-1, 1)), st.floats(1, 200))
def test_probabilities_are_a_softmax(cosine, scale):
    found = probabilities(cosine, scale)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(found[:, 0] / found[:, 1]), scale * (cosine[:, 0] - cosine[:, 1]), atol=1e-6)


def test_a_tie_goes_to_the_last_or_the_first():
    assert find_best(np.array([0.5, 0.5])) == 1
    assert find_best(np.array([0.2, 0.4, 0.4, 0.0])) == 2
    assert find_best(np.array([0.2, 0.4, 0.4, 0.0]), "first") == 1
    even = np.array([[0.3, 0.2], [0.2, 0.3]])
    for how in WAYS:
        assert vote_of(even, 100, how) == 1
        assert vote_of(even, 100, how, "first") == 0


def test_the_order_of_images_decides_no_tie():
    cosine = np.array([[0.31, 0.2], [0.2, 0.31], [0.25, 0.2], [0.2, 0.25]])
    for images in (cosine, cosine[::-1], cosine[[2, 0, 3, 1]]):
        assert [vote_of(images, 100, how) for how in WAYS] == [1, 1, 1]


def test_ways_of_voting_differ():
    """One confident image, and two that slightly prefer the other category."""
    cosine = np.array([[0.40, 0.10], [0.20, 0.21], [0.20, 0.21]])
    assert vote_of(cosine, 100, "majority") == 1
    assert vote_of(cosine, 100, "cosine") == 0
    # probabilities 1 and twice 0.27: 0.51
    assert probabilities(cosine, 100).mean(axis=0)[0] == pytest.approx(0.513, abs=1e-3)
    assert vote_of(cosine, 100, "probability") == 0
    # a smaller scale makes all of them less sure
    assert vote_of(np.array([[0.22, 0.20], [0.20, 0.21], [0.20, 0.21]]), 1000, "probability") == 1
