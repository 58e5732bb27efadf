"""Time and memory of a run whose model and judge do nothing: what the framework itself costs.

python tests/benchmarks/null_run.py SAMPLES    prints seconds and peak memory of this process as JSON
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from null_world import evaluate_null


def main(samples: int) -> None:
    """Run with a number of samples and print time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["T2I_CACHE_DIR"] = str(Path(folder) / "cache")
        started = time.perf_counter()
        ok = evaluate_null(samples, Path(folder) / "run")
        seconds = time.perf_counter() - started
    print(json.dumps({"samples": ok, "seconds": seconds, "peak_mb": peak_mb()}))


def peak_mb() -> float:
    """The most memory that this process had at a time."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux begins with the memory of the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main(int(sys.argv[1]))
