import runpy
from pathlib import Path

import pytest

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "scoring.py"))


@pytest.mark.long
def test_all_of_imagenets_synsets_are_scored_in_seconds(tmp_path, leaves):
    """Five times the benchmark's limit: a busy machine is slower."""
    logits = BENCHMARK["store_logits"](tmp_path, len(leaves.evaluated))
    found, seconds = min((BENCHMARK["measure"](BENCHMARK["score"], logits) for _ in range(3)), key=lambda p: p[1])
    assert len(found) == 860
    assert seconds <= 5 * BENCHMARK["SECONDS"]


@pytest.mark.long
def test_walking_the_graph_gives_the_same_and_takes_many_times_as_long(tmp_path, leaves):
    """Half the benchmark's limit, on a quarter of its synsets and images."""
    quick, slow = BENCHMARK["compare"](tmp_path, leaves.evaluated[::4], 8)
    assert slow >= BENCHMARK["TIMES"] / 2 * quick


def test_the_benchmark_says_which_limits_are_missed():
    times = BENCHMARK["Times"]
    assert times(arithmetic=0.1, walk=2).find_missed() == []
    slow = times(arithmetic=1.2, walk=2.4).find_missed()
    assert [limit.split(" (")[0] for limit in slow] == ["1.20 s of arithmetic", "walking takes 2 times as long"]
