"""ISP and SCS compared with their definitions, and invariances."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from t2i_wordnet_hypernymy import scores

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0, 5, (32, 50)).astype(np.float32)
BELOW = np.array([3, 7, 8, 20, 49])


def softmax(x):
    odds = np.exp(x.astype(float))
    return odds / odds.sum(axis=1, keepdims=True)


def test_isp_is_the_mass_below():
    expected = softmax(LOGITS)[:, BELOW].sum(axis=1)
    np.testing.assert_allclose(scores.in_subtree(LOGITS.astype(float), BELOW), expected, rtol=1e-12)
    # float32, as answers are stored, are good for six digits
    np.testing.assert_allclose(scores.in_subtree(LOGITS, BELOW), expected, rtol=5e-7)


def test_scs_is_the_mean_divergence_from_the_mean():
    p = softmax(LOGITS[:, BELOW])
    expected = (p * np.log(p / p.mean(axis=0))).sum(axis=1).mean()
    assert scores.coverage(LOGITS, BELOW) == pytest.approx(expected, rel=1e-12)
    marginal = p.mean(axis=0)
    # it is also the entropy of the mean less the mean entropy
    assert expected == pytest.approx(
        -(marginal * np.log(marginal)).sum() - scores.conditional_entropy(scores.shares(LOGITS, BELOW))
    )


def test_an_images_divergence_is_its_influence_on_the_synsets_score():
    p = softmax(LOGITS[:, BELOW])

    def weighted(weights):
        share = weights / weights.sum()
        mean = share @ p
        return share @ (p * np.log(p / mean)).sum(axis=1)

    step, ones = 1e-5, np.ones(len(p))
    slopes = [(weighted(ones + step * one) - weighted(ones - step * one)) / (2 * step) for one in np.eye(len(p))]
    found = scores.divergences(scores.shares(LOGITS, BELOW))
    assert np.array(slopes) * len(p) == pytest.approx(found - found.mean(), abs=1e-7)


def test_a_class_that_is_ruled_out_adds_nothing():
    logits = np.array([[0, -np.inf, 0], [0, 0, -np.inf]])
    assert scores.divergences(scores.shares(logits, np.arange(3))) == pytest.approx([log(2) / 2] * 2)
    assert scores.conditional_entropy(scores.shares(logits, np.arange(3))) == pytest.approx(log(2))


@pytest.mark.parametrize(
    ("kinds", "sure", "marginal", "conditional"),
    [
        ([0, 1, 2, 3, 4], 1000, log(5), 0),
        ([0, 0, 0, 0, 0], 1000, 0, 0),
        ([0, 1, 2, 3, 4], 0, log(5), log(5)),
        ([0, 0, 1, 1], 1000, log(2), 0),
    ],
    ids=["five kinds", "one kind", "no idea", "two kinds"],
)
def test_entropy_of_the_mean_and_mean_entropy(kinds, sure, marginal, conditional):
    logits = np.zeros((len(kinds), 50), np.float32)
    logits[np.arange(len(kinds)), BELOW[kinds]] = sure
    p = scores.shares(logits, BELOW)
    assert scores.marginal_entropy(p) == pytest.approx(marginal, abs=1e-12)
    assert scores.conditional_entropy(p) == pytest.approx(conditional, abs=1e-12)


@pytest.mark.parametrize("images", [1, 2, 32])
def test_the_entropies_differ_by_the_divergence(images):
    p = scores.shares(LOGITS[:images], BELOW)
    difference = scores.marginal_entropy(p) - scores.conditional_entropy(p)
    assert difference == pytest.approx(scores.coverage(LOGITS[:images], BELOW), abs=1e-12)
    assert scores.marginal_entropy(p) <= log(len(BELOW))


def test_huge_logits_give_numbers():
    logits = np.where(LOGITS > 0, 1e30, -1e30).astype(np.float32)
    for value in (
        scores.in_subtree(logits, BELOW),
        scores.coverage(logits, BELOW),
        scores.marginal_entropy(scores.shares(logits, BELOW)),
        scores.conditional_entropy(scores.shares(logits, BELOW)),
    ):
        assert np.isfinite(value).all()


def test_a_shift_of_all_logits_changes_nothing():
    moved = LOGITS.astype(np.float64) + 100
    np.testing.assert_allclose(scores.in_subtree(moved, BELOW), scores.in_subtree(LOGITS, BELOW), rtol=5e-6)
    assert scores.coverage(moved, BELOW) == pytest.approx(scores.coverage(LOGITS, BELOW), rel=1e-6)


@pytest.mark.parametrize(("classes", "images"), [(2, 32), (5, 32), (40, 32), (3, 1)])
def test_the_maximum_of_scs(classes, images):
    assert scores.most(classes, images) == min(log(classes), log(images))
    shown = np.arange(images) % classes
    logits = np.where(np.arange(classes) == shown[:, None], 1000.0, 0)
    even = scores.coverage(logits, np.arange(classes))
    assert scores.balanced(classes, images) == pytest.approx(even, abs=1e-12)
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(4000):
        shares = np.bincount(rng.integers(classes, size=images)) / images
        shares = shares[shares > 0]
        drawn.append(-(shares * np.log(shares)).sum())
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert scores.uniform(classes, images) == pytest.approx(np.mean(drawn), abs=4 * error + 1e-12)
    assert scores.uniform(classes, images) <= scores.balanced(classes, images) + 1e-12


def test_a_single_class_has_nothing_to_cover():
    assert scores.uniform(1, 32) == scores.balanced(1, 32) == scores.most(1, 32) == 0
