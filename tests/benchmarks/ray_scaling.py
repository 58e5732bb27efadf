"""Images per second of 1, 2, 4 and 8 workers of a model that sleeps 200 ms, against a multiple of one.

python tests/benchmarks/ray_scaling.py [SECONDS] [WORKERS ...]    prints a line of JSON for each number of workers

Each run takes about SECONDS (30) once its workers have started. `of_linear` compares the rate with workers /
200 ms, over the second half of the images, when all workers are there, to the last image.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "plugins/ray/tests"))

from ray_toy import add_to_path, install_toy
from t2i_core import evaluate

SLEEP = 0.2
PROMPTS = 20


class Clock:
    """Notes when each image is done."""

    def __init__(self) -> None:
        self.images: list[float] = []

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Clock | Other]:
        """Take the time of images alone."""
        return nullcontext(self if title.startswith("images of") else Other())

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Note the time."""
        self.images += [time.perf_counter()] * count

    def note(self, message: str) -> None:
        """Show a note."""
        print(message, file=sys.stderr)


class Other:
    """Another stage of the run."""

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Do nothing."""


def measure(workers: int, seconds: float, folder: Path) -> dict[str, float]:
    """Run with a number of workers; return rates in images per second."""
    clock = Clock()
    seeds = max(2, round(workers * seconds / SLEEP / PROMPTS))
    started = time.perf_counter()
    evaluate(
        "toy-metric",
        "toy",
        judge="toy-judge",
        prompts="toy-prompts",
        seeds=seeds,
        options={"toy": {"sleep": SLEEP, "size": 64}},
        out=folder / str(workers),
        executor="ray",
        workers=workers,
        fresh=True,
        progress=clock,
    )
    half = len(clock.images) // 2
    rate = (len(clock.images) - 1 - half) / (clock.images[-1] - clock.images[half])
    return {
        "workers": workers,
        "images": len(clock.images),
        "rate": round(rate, 2),
        "of_linear": round(rate * SLEEP / workers, 3),
        "first_image_after": round(clock.images[0] - started, 1),
    }


def main(seconds: float, workers: list[int]) -> None:
    """Measure each number of workers in one cluster of this machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["T2I_CACHE_DIR"] = str(folder / "cache")
        os.environ["OMP_NUM_THREADS"] = "1"
        install_toy(folder / "toy")
        add_to_path(folder / "toy")
        for count in workers:
            print(json.dumps(measure(count, seconds, folder)), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 30, [int(each) for each in sys.argv[2:]] or [1, 2, 4, 8])
