"""Time and memory of a run whose model and judge do nothing: what the framework itself costs.

python tests/benchmarks/null_run.py SAMPLES [--own-images]

Prints seconds by the clock and of the processors, peak memory of this process and size of the database as JSON.
With `--own-images` each sample has its own image, as of real models, instead of one that all share.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from null_world import Null, NullOfManyColours, evaluate_null


def main(samples: int, own_images: bool) -> None:
    """Run with a number of samples and print time, memory and the size of the database."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["T2I_CACHE_DIR"] = str(Path(folder) / "cache")
        started, used = time.perf_counter(), time.process_time()
        ok = evaluate_null(samples, Path(folder) / "run", NullOfManyColours if own_images else Null)
        times = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - used}
        database = sum(file.stat().st_size for file in (Path(folder) / "cache").glob("*.sqlite*"))
    print(json.dumps({"samples": ok, **times, "peak_mb": peak_mb(), "database_mb": database / 1e6}))


def peak_mb() -> float:
    """The most memory that this process had at a time."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux begins with the memory of the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main(int(sys.argv[1]), "--own-images" in sys.argv[2:])
