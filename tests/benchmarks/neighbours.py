"""Time of `t2i eval` alone, two at once, and beside a process that keeps one core busy.

python tests/benchmarks/neighbours.py [ROUNDS]

Prints as JSON the seconds of each round, their medians, and the ratios of medians. Run it on a machine with two or
more cores and no other work. It exits with status 1 if a ratio is above its bar; ratios of medians are compared,
because single rounds differ by a third on a shared machine.

"Spinning" is t2i with the settings that torch's libraries choose by themselves: a thread for each core, and
threads that wait spin.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from t2i_core.engine.thread_pools import THREADS, WAITING, count_cores

JOB = ("eval", "--metric", "tiam", "--model", "mini", "--seeds", "4")
"""The README's main job, on a few seeds."""
BARS = {"two at once / two in turn": 1.3, "beside a busy core / alone": 1.5, "alone / alone, spinning": 1.05}
SPINNING = {"GOMP_SPINCOUNT": "300000", THREADS: str(count_cores())}


class Command:
    """The job, each time in a new process with an empty cache."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._folder, self._environ, self._runs = folder, environ, 0

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command."""
        self._runs += 1
        run = self._folder / f"run-{self._runs}"
        return subprocess.Popen(
            [sys.executable, "-m", "t2i_cli", *JOB, "--out", run],
            env={**self._environ, "T2I_CACHE_DIR": str(run.with_suffix(".cache"))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, at_once: int = 1) -> None:
        """Run the command, that many times at once, to its end."""
        for process in [self.start() for _ in range(at_once)]:
            if process.wait():
                raise SystemExit(f"the command failed with status {process.returncode}")


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each kind of run, one for each round; the kinds take turns."""
    environ = {name: value for name, value in os.environ.items() if name not in {*WAITING, *SPINNING}}
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spinning").mkdir()
        command = Command(Path(folder), environ)
        spinning = Command(Path(folder) / "spinning", {**environ, **SPINNING})
        command.run()  # compiles, and reads all files once
        for _ in range(rounds):
            found.setdefault("alone", []).append(seconds(command.run))
            found.setdefault("alone, spinning", []).append(seconds(spinning.run))
            found.setdefault("two in turn", []).append(seconds(lambda: [command.run(), command.run()]))
            found.setdefault("two at once", []).append(seconds(lambda: command.run(at_once=2)))
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            try:
                found.setdefault("beside a busy core", []).append(seconds(command.run))
            finally:
                busy.kill()
                busy.wait()
    return found


def main() -> None:
    """Measure, print, and hold the ratios of medians to their bars."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    medians = {name: statistics.median(values) for name, values in found.items()}
    ratios = {}
    for name in BARS:
        above, _, below = name.partition(" / ")
        ratios[name] = medians[above] / medians[below]
    print(json.dumps({"seconds": found, "medians": medians, "ratios of medians": ratios}, indent=1))
    missed = [name for name, bar in BARS.items() if ratios[name] > bar]
    if missed:
        raise SystemExit(f"above its bar: {', '.join(missed)}")


if __name__ == "__main__":
    main()
