"""Benchmark of one colour decision: unpack a mask, count its colours, and decide.

    python plugins/tiam/benchmarks/colour_decision.py

The mask covers 30 % of an image of 512 x 512 pixels. An image of noise accesses the whole lookup table, which does
not fit into the processor's cache; a smooth image is closer to a photograph. The exit status is 1 if a median
exceeds the limit.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from t2i_core.api import Segments
from t2i_core.api.mask import PackedMask
from t2i_core.api.plugin_info import Setup
from t2i_core.api.prompt import SceneObject
from t2i_tiam.labels import LABELS
from t2i_tiam.mask_measurements import MaskMeasurements
from t2i_tiam.metric import Tiam
from t2i_tiam.options import TiamOptions
from t2i_tiam.references import REFERENCES
from t2i_tiam.rules import decide

SIZE = 512
MILLISECONDS = 2.0
"""Maximum median time of a decision."""


def images() -> dict[str, np.ndarray]:
    """Return uint8 images of shape (SIZE, SIZE, 3)."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:SIZE, :SIZE] * 255 / SIZE
    smooth = np.stack([x, y, (x + y) / 2], axis=-1) + rng.normal(0, 8, (SIZE, SIZE, 3))
    return {
        "noise": rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8),
        "smooth": np.clip(smooth, 0, 255).astype(np.uint8),
    }


def milliseconds(pixels: np.ndarray, rounds: int = 100) -> list[float]:
    """Return the time of each round in milliseconds, without a first round that loads the table."""
    y, x = np.mgrid[:SIZE, :SIZE] - SIZE / 2
    mask = PackedMask.pack(y * y + x * x < 0.3 * SIZE * SIZE / np.pi)
    found = Segments(
        (SIZE, SIZE), np.zeros((1, 4), np.float32), np.ones(1, np.float32), np.zeros(1, np.int16),
        (LABELS["car"],), masks=(mask,),
    )  # fmt: skip
    metric = Tiam(Setup(None, TiamOptions()))
    evidence = MaskMeasurements(tuple(REFERENCES.values()))
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        taken = evidence.take(pixels, found)
        decide([SceneObject(LABELS["car"], "red")], found, taken, metric.columns, metric.thresholds)
        times.append((time.perf_counter() - begin) * 1000)
    return times[1:]


if __name__ == "__main__":
    medians = {}
    for name, pixels in images().items():
        times = milliseconds(pixels)
        medians[name] = statistics.median(times)
        print(f"{name:7} median {medians[name]:.2f} ms, worst of {len(times)} {max(times):.2f} ms")
    if max(medians.values()) > MILLISECONDS:
        raise SystemExit(f"the median must be at most {MILLISECONDS:g} ms (got {max(medians.values()):.2f} ms)")
