"""Memory and time of the process that starts a run on Ray, with a model and a judge that cost nothing.

python tests/benchmarks/ray_null_run.py [IMAGES] [WORKERS]    prints one line of JSON

WORKERS (2) draw, encode, write and judge IMAGES (1,000,000) flat pictures of 64 x 64 pixels; the driver alone
writes the database. The line has the driver's peak memory, the seconds of each stage, and the database's size.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plugins/ray/tests"))

from null_run import peak_mb
from ray_toy import add_to_path, install_toy
from t2i_core import evaluate
from t2i_core.storage.store import DATABASE

PROMPTS = 20


class Stages:
    """Notes how long each stage takes, how long the driver worked in it, and the peak memory after it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.driver_seconds: dict[str, float] = {}
        self.peaks: dict[str, float] = {}

    @contextmanager
    def task(self, title: str, total: int, unit: str) -> Iterator[Stages]:
        """Take the time of a stage."""
        started, worked = time.perf_counter(), time.process_time()
        yield self
        self.seconds[title] = round(time.perf_counter() - started, 1)
        self.driver_seconds[title] = round(time.process_time() - worked, 1)
        self.peaks[title] = round(peak_mb())

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Show a note."""
        print(message, file=sys.stderr)


def main(images: int, workers: int) -> None:
    """Run and print what was measured."""
    stages = Stages()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["T2I_CACHE_DIR"] = str(folder / "cache")
        os.environ["OMP_NUM_THREADS"] = "1"
        install_toy(folder / "toy")
        add_to_path(folder / "toy")
        started = time.perf_counter()
        run = evaluate(
            "toy-metric",
            "toy",
            judge="toy-judge",
            prompts="toy-prompts",
            seeds=images // PROMPTS,
            options={"toy": {"size": 64, "flat": True}},
            out=folder / "run",
            executor="ray",
            workers=workers,
            progress=stages,
        )
        found = {
            "images": run.results[0].n_ok,
            "workers": workers,
            "seconds": round(time.perf_counter() - started, 1),
            "peak_mb": round(peak_mb()),
            "database_mb": round((folder / "cache" / DATABASE).stat().st_size / 1e6, 1),
            "stages": stages.seconds,
            "stages_of_driver": stages.driver_seconds,
            "peaks_mb": stages.peaks,
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000, int(sys.argv[2]) if sys.argv[2:] else 2)
