"""Time and memory of ratings of a million battles, with 1,000 rounds of the bootstrap.

    taskset -c 0,1 python plugins/arena-elo/benchmarks/million.py

50 models, 10,000 prompts, a fifth ties, the table in memory. At most 4 s on two cores and 1 GB, with all that this
process has loaded: where it takes more it ends with exit code 1 (nothing else should run beside it).
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
from scipy.special import expit
from t2i_arena_elo.battles import Battles
from t2i_arena_elo.ratings import Ratings, rate

SECONDS, GIGABYTES = 4.0, 1.0
"""The most that it may take, on the clock of two cores and at any time."""


def battles(number: int, models: int, prompts: int) -> Battles:
    """Draw battles of known strengths, the left ones a little stronger for it."""
    rng = np.random.default_rng(0)
    strength = rng.normal(0, 0.7, models)
    left = rng.integers(0, models, number)
    right = (left + rng.integers(1, models, number)) % models
    won = rng.random(number) < expit(strength[left] - strength[right] + 0.1)
    verdict = np.where(rng.random(number) < 0.2, 2, np.where(won, 0, 1))
    names, ids = [f"model {i}" for i in range(models)], [f"prompt {i}" for i in range(prompts)]
    prompt = rng.integers(0, prompts, number)
    return Battles.coded(names, ids, left=left, right=right, prompt=prompt, verdict=verdict)


def timed(table: Battles) -> tuple[Ratings, float, float]:
    """Ratings, and the seconds that they took: on the clock, and of processors."""
    clock, used = time.perf_counter(), time.process_time()
    found = rate(table, rounds=1000)
    return found, time.perf_counter() - clock, time.process_time() - used


def main() -> None:
    """Draw, rate, say what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--prompts", type=int, default=10_000)
    asked = parser.parse_args()
    table = battles(asked.battles, asked.models, asked.prompts)
    found, clock, used = timed(table)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    best = found.table.iloc[0]
    print(f"{clock:.1f} s ({used:.1f} s of processors), {memory:.2f} GB at most")
    print(f"{best['model']}: {best['rating']:.1f} [{best['low']:.1f}, {best['high']:.1f}], {found.clusters}")
    if clock > SECONDS or memory > GIGABYTES:
        sys.exit(f"more than {SECONDS:g} s or {GIGABYTES:g} GB")


if __name__ == "__main__":
    main()
