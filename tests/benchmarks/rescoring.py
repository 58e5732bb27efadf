"""Time of scoring stored TIAM observations under other thresholds: nothing is drawn, judged or opened.

python tests/benchmarks/rescoring.py SAMPLES    prints as JSON the seconds and CPU seconds of the second scoring
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from t2i_core.api import Generated, GeneratorInfo, JudgeInfo, ObjectClass, Segments
from t2i_core.api.mask import PackedMask
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_registry import Registry

SIZE = 64
LABELS = (
    ObjectClass("car", "car.n.01"),
    ObjectClass("refrigerator", "refrigerator.n.01"),
    ObjectClass("giraffe", "giraffe.n.01"),
    ObjectClass("elephant", "elephant.n.01"),
    ObjectClass("zebra", "zebra.n.01"),
)


class Fast:
    """Draws another colour for each prompt and seed, and finds three objects in every image."""

    def __init__(self, setup: Any) -> None:
        left, right = np.zeros((2, SIZE, SIZE), bool)
        left[8:40, 4:30], right[20:60, 34:60] = True, True
        self.masks = tuple(PackedMask.pack(m) for m in (left, right, left | right))

    def generate(self, requests: Any) -> Iterator[Any]:
        for n, request in enumerate(requests):
            pixels = np.full((SIZE, SIZE, 3), (n % 250, n // 250, 200), np.uint8)
            yield request, Generated(pixels)

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for n, query in enumerate(queries):
            yield (
                query,
                Segments(
                    size=(SIZE, SIZE),
                    boxes=np.array([m.box for m in self.masks], np.float32),
                    scores=np.array([0.9, 0.6, 0.4], np.float32),
                    classes=np.array([n % 5, (n + 1) % 5, (n + 2) % 5], np.int16),
                    labels=LABELS,
                    masks=self.masks,
                ),
            )


JUDGE = JudgeInfo(
    name="fast", summary="Fast.", capabilities={"segment": frozenset()}, create=Fast, labels=lambda a, o: LABELS
)


class WithJudge(Registry):
    """What is installed, and the benchmark's judge."""

    def choose_judge(self, *args: Any, **more: Any) -> Any:
        from t2i_core.api.resolver import JudgeChoice
        from t2i_core.engine.component import settle_component

        return JudgeChoice(settle_component(JUDGE), (), "the benchmark's")


def main(samples: int) -> None:
    """Score a number of samples twice and print the time of the second scoring."""
    model = GeneratorInfo(name="fast", summary="Fast.", create=Fast)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["T2I_CACHE_DIR"] = str(Path(folder) / "cache")

        def score(confidence: float, out: str) -> tuple[dict[str, float], float]:
            request = Request(
                metrics=("tiam",),
                models=(ModelRequest(model),),
                prompts=("tiam-5-2",),
                seeds=tuple(range(samples // 20)),
                options={"tiam": {"confidence": confidence}},
                out=Path(folder) / out,
            )
            started, worked = time.perf_counter(), time.process_time()
            run = run_plan(make_plan(request, WithJudge()))
            spent = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - worked}
            return spent, run.results[0].score

        _, before = score(0.25, "first")
        opened = []
        PIL.Image.open, original = lambda *a, **k: opened.append(a), PIL.Image.open
        try:
            spent, after = score(0.5, "second")
        finally:
            PIL.Image.open = original
    print(json.dumps({"samples": samples, **spent, "opened": len(opened), "scores": [before, after]}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
