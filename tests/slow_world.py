"""A slow model and a slow judge that log each item they finish: for tests that kill the process.

python slow_world.py CACHE RUN LOG SAMPLES [SHARD]    prints the results as JSON
"""

from __future__ import annotations

import json
import os
import sys
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
from t2i_core.engine.evaluation import evaluate
from t2i_core.testing import StaticResolver

PAUSE = 0.02
LOG: Path


def log(kind: str, key: Any) -> None:
    """Append one line, which a kill cannot tear: it is far below the size that is written at once."""
    with LOG.open("a") as file:
        file.write(f"{kind} {key}\n")


class Slow:
    """Draws and judges slowly."""

    def __init__(self, setup: Any) -> None:
        pass

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            time.sleep(PAUSE)
            rng = np.random.default_rng([request.seed, *request.prompt.text.encode()])
            yield request, Generated(rng.integers(1, 256, (16, 16, 3), dtype=np.uint8))
            log("image", f"{request.prompt.id}/{request.seed}")

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            time.sleep(PAUSE)
            yield query, Reward(float(query.images[0].pixels.mean()))
            log("observation", query.images[0].digest)


class Mean(Metric):
    """Takes the judge's number."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value)


def main(cache: str, run: str, log_file: str, samples: str, shard: str | None = None) -> None:
    """Evaluate `samples` samples of five prompts."""
    global LOG
    LOG = Path(log_file)
    os.environ["T2I_CACHE_DIR"] = cache
    prompts = [Prompt(str(i), f"prompt {i}") for i in range(5)]
    result = evaluate(
        MetricInfo(name="mean", summary="Mean.", create=Mean, measures=(Measure("reward", "Mean."),)),
        GeneratorInfo(name="slow", summary="Slow.", create=Slow),
        prompts="five",
        seeds=int(samples) // 5,
        out=run,
        shard=shard,
        resolver=StaticResolver(
            PromptSourceInfo(name="five", summary="Five.", prompts=lambda setup: prompts),
            JudgeInfo(name="slow", summary="Slow.", capabilities={"reward": frozenset()}, create=Slow),
        ),
    )
    print(json.dumps({**result.to_json(), "run": None, "partial": result.partial}))


if __name__ == "__main__":
    main(*sys.argv[1:])
