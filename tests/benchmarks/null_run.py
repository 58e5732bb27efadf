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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Prompt,
    PromptSourceInfo,
    Reward,
    Row,
)
from t2i_core.engine import evaluate
from t2i_core.testing import StaticResolver

PROMPTS = 100
PIXELS = np.full((8, 8, 3), 200, np.uint8)


class Null:
    """Draws the same grey image, and sees the same in every one."""

    def __init__(self, setup: Any) -> None:
        pass

    def generate(self, requests: Any) -> Iterator[Any]:
        return ((request, Generated(PIXELS)) for request in requests)

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        return ((query, Reward(0.5)) for query in queries)


class NullMetric(Metric):
    """Takes the judge's number."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value)


def main(samples: int) -> None:
    """Run with so many samples and print what it took."""
    source = PromptSourceInfo(
        name="null", summary="Numbers.", prompts=lambda s: [Prompt(str(i), f"prompt {i}") for i in range(PROMPTS)]
    )
    judge = JudgeInfo(name="null", summary="Null.", capabilities={"reward": frozenset()}, create=Null)
    model = GeneratorInfo(name="null", summary="Null.", create=Null)
    metric = MetricInfo(name="null", summary="Null.", create=NullMetric, measures=(Measure("reward", "Number."),))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["T2I_CACHE_DIR"] = str(Path(folder) / "cache")
        started = time.perf_counter()
        run = evaluate(
            metric,
            model,
            prompts="null",
            seeds=samples // PROMPTS,
            out=Path(folder) / "run",
            resolver=StaticResolver(source, judge),
        )
        seconds = time.perf_counter() - started
    print(json.dumps({"samples": run.results["results"][0]["n_ok"], "seconds": seconds, "peak_mb": peak_mb()}))


def peak_mb() -> float:
    """The most memory that this process had at a time."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux begins with the memory of the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main(int(sys.argv[1]))
