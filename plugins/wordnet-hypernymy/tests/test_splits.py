"""Scores of stored logits are the same however the work is split: any chunks of synsets, any order of images."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from t2i_core.storage.store import Store
from t2i_wordnet_hypernymy import scores

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "scoring.py"))
SYNSETS = 12
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(0, 5, (32, 50)).astype(np.float32)
BELOW = np.array([3, 7, 8, 20, 49])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store that holds the logits of some synsets, and the jobs of both metrics."""
    jobs = BENCHMARK["jobs"](SYNSETS)
    with Store(tmp_path_factory.mktemp("store")) as store:
        BENCHMARK["fill"](store, jobs[0])
        yield store, jobs


def rows(kept, prompts: Sequence[int]) -> list[pd.DataFrame]:
    """The tables of both metrics, of these prompts alone."""
    store, jobs = kept
    own = tuple(replace(job, prompts=tuple(job.prompts[i] for i in prompts)) for job in jobs)
    return [table.build() for table in BENCHMARK["score_stored"](store, own)]


def sorted_rows(tables: Sequence[pd.DataFrame]) -> list[tuple[object, ...]]:
    """What the tables say, in an order that does not depend on the work's."""
    whole = pd.concat([table.astype(object) for table in tables if not table.empty])
    columns = whole.filter(["prompt", "measure", "seed", "value"])
    return sorted(columns.itertuples(index=False, name=None), key=repr)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(SYNSETS)), cuts=st.sets(st.integers(1, SYNSETS - 1)))
def test_chunks_of_synsets_of_any_size_in_any_order_give_the_same_rows(kept, order, cuts):
    chunks = [order[a:b] for a, b in pairwise([0, *sorted(cuts), SYNSETS])]
    parts = [rows(kept, chunk) for chunk in chunks]
    for metric, whole in enumerate(rows(kept, range(SYNSETS))):
        assert sorted_rows([part[metric] for part in parts]) == sorted_rows([whole])


@given(order=st.permutations(range(len(LOGITS))), cuts=st.sets(st.integers(1, len(LOGITS) - 1)))
def test_images_of_a_synset_in_any_chunks_and_order_give_the_same_scores(order, cuts):
    """ISP is an image's own, so chunks of images give it to the bit; SCS is of all of them, in whatever order."""
    chunks = [list(order[a:b]) for a, b in pairwise([0, *sorted(cuts), len(LOGITS)])]
    isp = np.concatenate([scores.in_subtree(LOGITS[chunk], BELOW) for chunk in chunks])
    np.testing.assert_array_equal(isp, scores.in_subtree(LOGITS, BELOW)[list(order)])
    assert scores.coverage(LOGITS[list(order)], BELOW) == pytest.approx(scores.coverage(LOGITS, BELOW), rel=1e-12)
