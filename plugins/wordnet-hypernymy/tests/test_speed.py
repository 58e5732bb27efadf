import runpy
from pathlib import Path

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
    assert found(arithmetic=0.1, walk=2).faults() == []
    slow = found(arithmetic=1.2, walk=2.4).faults()
    assert [fault.split(" (")[0] for fault in slow] == ["1.20 s of arithmetic", "walking takes 2 times as long"]
