"""Scores are the same however the work is split: any chunks and any order of images."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from t2i_wordnet_hypernymy import scores

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0, 5, (32, 50)).astype(np.float32)
BELOW = np.array([3, 7, 8, 20, 49])


@given(order=st.permutations(range(len(LOGITS))), cuts=st.sets(st.integers(1, len(LOGITS) - 1)))
def test_images_of_a_synset_in_any_chunks_and_order_give_the_same_scores(order, cuts):
    """ISP is an image's own, so chunks of images give it to the bit; SCS is of all of them, in whatever order."""
    chunks = [list(order[a:b]) for a, b in pairwise([0, *sorted(cuts), len(LOGITS)])]
    isp = np.concatenate([scores.in_subtree(LOGITS[chunk], BELOW) for chunk in chunks])
    np.testing.assert_array_equal(isp, scores.in_subtree(LOGITS, BELOW)[list(order)])
    assert scores.coverage(LOGITS[list(order)], BELOW) == pytest.approx(scores.coverage(LOGITS, BELOW), rel=1e-12)
