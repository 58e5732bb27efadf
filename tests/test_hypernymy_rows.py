"""Rows of stored logits are what was kept, and the same however the work is split."""

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
from t2i_core.engine.sample import SampleGrid
from t2i_core.storage.store import Store
from t2i_wordnet_hypernymy import scores
from t2i_wordnet_hypernymy.leaves import Leaves
from t2i_wordnet_hypernymy.wordnet import nouns

BENCHMARK = runpy.run_path(str(Path(__file__).parent / "benchmarks" / "hypernymy_rows.py"))
SYNSETS = 12


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store that holds the logits of some synsets, and the jobs of both metrics."""
    jobs = BENCHMARK["jobs"](SYNSETS)
    with Store(tmp_path_factory.mktemp("store")) as store:
        BENCHMARK["fill"](store, jobs[0])
        yield store, jobs


def select(grid: SampleGrid, prompts: Sequence[int]) -> SampleGrid:
    """The samples of these prompts alone."""
    return SampleGrid(grid.model, tuple(grid.prompts[i] for i in prompts), grid.seeds, grid.noise)


def rows(kept, prompts: Sequence[int]) -> list[pd.DataFrame]:
    """The tables of both metrics, of these prompts alone."""
    store, jobs = kept
    own = tuple(replace(job, grids=tuple(select(grid, prompts) for grid in job.grids)) for job in jobs)
    return BENCHMARK["score_stored"](store, own)


def sorted_rows(tables: Sequence[pd.DataFrame]) -> list[tuple[object, ...]]:
    """What the tables say, in an order that does not depend on the work's."""
    whole = pd.concat([table.astype(object) for table in tables if not table.empty])
    columns = whole.filter(["prompt", "measure", "seed", "value"])
    return sorted(columns.itertuples(index=False, name=None), key=repr)


@pytest.mark.long
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(SYNSETS)), cuts=st.sets(st.integers(1, SYNSETS - 1)))
def test_chunks_of_synsets_of_any_size_in_any_order_give_the_same_rows(kept, order, cuts):
    chunks = [order[a:b] for a, b in pairwise([0, *sorted(cuts), SYNSETS])]
    parts = [rows(kept, chunk) for chunk in chunks]
    for metric, whole in enumerate(rows(kept, range(SYNSETS))):
        assert sorted_rows([part[metric] for part in parts]) == sorted_rows([whole])


def test_bulk_reads_of_the_store_return_the_stored_entries(tmp_path):
    leaves = Leaves.of(nouns(), BENCHMARK["LABELS"])
    both = BENCHMARK["jobs"](SYNSETS)
    with Store(tmp_path) as store:
        BENCHMARK["fill"](store, both[0])
        isp, scs = BENCHMARK["score_stored"](store, both)
    logits = np.random.default_rng(0).normal(0, 3, (SYNSETS, 32, 1000)).astype(np.float32)
    for prompt, own in zip(both[0].prompts, logits, strict=True):
        below = leaves.below[prompt.id]
        rows = isp[isp["prompt"] == prompt.id]
        np.testing.assert_array_equal(rows["value"], scores.in_subtree(own, below))
        assert rows["seed"].tolist() == list(range(32))
        divergence = scs[(scs["prompt"] == prompt.id) & (scs["measure"] == "divergence")]["value"].tolist()
        assert divergence == ([scores.coverage(own, below)] if len(below) > 1 else [])
