"""The benchmark: a tenth of it, and all of it by what it takes of processors and memory."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "million.py"
BENCHMARK = runpy.run_path(str(SCRIPT), run_name="benchmark")


def test_ratings_take_seconds_of_processors_and_not_minutes():
    found, _, used = BENCHMARK["timed"](BENCHMARK["battles"](100_000, 50, 1_000))
    assert used < 5 * 2 * BENCHMARK["SECONDS"] / 10  # a tenth of the battles, two cores; a busy machine is slower
    assert (found.table["high"] > found.table["low"]).all()


@pytest.mark.slow
def test_a_million_battles_keep_to_the_bars():
    """Whatever else the machine does: two cores have twice as many seconds as the clock."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=250)
    said = re.search(r"\(([\d.]+) s of processors\), ([\d.]+) GB at most", done.stdout)
    assert said, done.stderr
    assert float(said[1]) <= 2 * BENCHMARK["SECONDS"]
    assert float(said[2]) <= BENCHMARK["GIGABYTES"]
