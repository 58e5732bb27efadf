"""A tenth of the benchmark, in a tenth of its time, whatever else the machine does."""

from __future__ import annotations

import runpy
from pathlib import Path

BENCHMARK = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "million.py"), run_name="benchmark")


def test_ratings_take_seconds_of_processors_and_not_minutes():
    found, _, used = BENCHMARK["timed"](BENCHMARK["battles"](100_000, 50, 1_000))
    assert used < 4
    assert (found.table["high"] > found.table["low"]).all()
