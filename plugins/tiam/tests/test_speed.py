import runpy
from pathlib import Path

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "colour_decision.py"))


def test_a_colour_decision_takes_milliseconds():
    """Five times the benchmark's bar: a busy machine is slower."""
    for name, pixels in BENCHMARK["images"]().items():
        assert min(BENCHMARK["milliseconds"](pixels, rounds=100)) <= 5 * BENCHMARK["MILLISECONDS"], name
