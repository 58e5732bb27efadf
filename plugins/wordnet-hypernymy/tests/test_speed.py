import runpy
from pathlib import Path

import numpy as np
from t2i_core.storage.store import Store
from t2i_wordnet_hypernymy import scores

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "scoring.py"))


def test_all_of_imagenets_synsets_are_scored_in_seconds(tmp_path, leaves):
    """Five times the benchmark's bar: a busy machine is slower."""
    logits = BENCHMARK["stored"](tmp_path, len(leaves.evaluated))
    found, seconds = min((BENCHMARK["timed"](BENCHMARK["score"], logits) for _ in range(3)), key=lambda p: p[1])
    assert len(found) == 860
    assert seconds <= 5 * BENCHMARK["SECONDS"]


def test_walking_the_graph_gives_the_same_and_takes_many_times_as_long(tmp_path, leaves):
    """Half the benchmark's bar, on a quarter of its synsets and images."""
    quick, slow = BENCHMARK["compared"](tmp_path, leaves.evaluated[::4], 8)
    assert slow >= BENCHMARK["TIMES"] / 2 * quick


def test_the_benchmark_says_which_bars_are_missed():
    found = BENCHMARK["Found"]
    assert found(from_store=0.9, arithmetic=0.1, walk=2, memory=0.3).faults() == []
    slow = found(from_store=1.1, arithmetic=1.2, walk=2.4, memory=1.5).faults()
    assert [fault.split(" (")[0] for fault in slow] == [
        "1.10 s from the store to rows",
        "1.20 s of arithmetic",
        "1.50 GB",
        "walking takes 2 times as long",
    ]


def test_what_is_read_from_the_store_in_bulk_is_what_was_kept(tmp_path, leaves):
    both = BENCHMARK["jobs"](12)
    with Store(tmp_path) as store:
        BENCHMARK["fill"](store, both[0])
        isp, scs = (table.build() for table in BENCHMARK["score_stored"](store, both))
    logits = np.random.default_rng(0).normal(0, 3, (12, 32, 1000)).astype(np.float32)
    for prompt, own in zip(both[0].prompts, logits, strict=True):
        below = leaves.below[prompt.id]
        rows = isp[isp["prompt"] == prompt.id]
        np.testing.assert_array_equal(rows["value"], scores.in_subtree(own, below))
        assert rows["seed"].tolist() == list(range(32))
        divergence = scs[(scs["prompt"] == prompt.id) & (scs["measure"] == "divergence")]["value"].tolist()
        assert divergence == ([scores.coverage(own, below)] if len(below) > 1 else [])
