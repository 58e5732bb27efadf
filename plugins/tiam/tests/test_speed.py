import runpy
from pathlib import Path

BENCHMARK = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "colour_decision.py"))


def test_a_colour_decision_takes_at_most_two_milliseconds():
    for name, pixels in BENCHMARK["images"]().items():
        assert min(BENCHMARK["milliseconds"](pixels, rounds=200)) <= 2, name
