"""Benchmark of GenEval's decisions about 553 x 4 images from stored detections.

    python plugins/geneval/benchmarks/decisions.py

Each image has 20 detections with masks of 512 x 512 pixels: those that its prompt asks for, and others. They are
read from their stored form, the queries about colours are made again, and the metric measures. No image is opened.
The exit status is 1 if the fastest of three rounds exceeds the limit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from t2i_core.api import Embedding, Observed, Prompt, Sample, Segments, Setup, Unit
from t2i_core.api.image import Image
from t2i_core.api.mask import PackedMask
from t2i_core.api.metric_input import Answer
from t2i_core.api.observation_codec import decode
from t2i_geneval.metric import COLOURS, OBJECTS, TEXTS, GenEval
from t2i_geneval.options import GenEvalOptions, PromptOptions
from t2i_geneval.sources import read_geneval
from t2i_torch_support.coco_classes import CLASSES

SECONDS = 2.0
"""Maximum time of all decisions."""
SEEDS, DETECTIONS, SIZE, WIDTH = 4, 20, 512, 768
LABELS = tuple(CLASSES.values())


def main() -> int:
    """Measure, print the times, and return the exit status."""
    prompts = list(read_geneval(Setup(None, PromptOptions())))
    rng = np.random.default_rng(0)
    shapes = [_draw_mask(rng) for _ in range(200)]
    metric = GenEval(Setup(None, GenEvalOptions()))
    _, texts, colours = metric.needs
    shared = [_embed(rng) for _ in texts.queries([Sample("m", prompt, 0) for prompt in prompts])]
    stored: list[tuple[Sample, bytes, list[bytes]]] = []
    for prompt in prompts:
        for seed in range(SEEDS):
            sample = Sample("m", prompt, seed, Image(f"{prompt.id}-{seed}", Path("absent.png")))
            seen = _detect(prompt, shapes, rng)
            asked = colours.queries([Sample("m", prompt, seed, sample.image, (Answer(seen, {}),))])
            embedded = [_embed(rng).observation.to_bytes() for _ in asked]
            stored.append((sample, seen.to_bytes(LABELS), embedded))
    times = []
    for _ in range(3):
        started = time.perf_counter()
        right = _decide(metric, stored, shared)
        times.append(time.perf_counter() - started)
    found = min(times)
    print(f"{len(stored)} images, {right} correct: {found:.2f} s ({found / len(stored) * 1e6:.0f} us each)")
    return int(found > SECONDS)


Stored = tuple[Sample, bytes, list[bytes]]
"""A sample without answers, its segments, and the embeddings of what is cut out of it."""


def _decide(metric: GenEval, stored: Sequence[Stored], shared: Sequence[Answer]) -> int:
    """Return how many images are correct."""
    right = 0
    for sample, data, embedded in stored:
        seen = Answer(decode(data, "segment", LABELS), {})
        asked = metric.needs[2].queries([replace(sample, answers=(seen,))])
        read = [Answer(decode(each, "embed", None), {}) for each, _ in zip(embedded, asked, strict=True)]
        observed = Observed((sample,), {OBJECTS: (seen,), COLOURS: read})
        unit = Unit(("m",), sample.prompt, sample.seed, (observed,), {TEXTS: shared})
        right += next(iter(metric.measure(unit))).value == 1
    return right


def _detect(prompt: Prompt, shapes: Sequence[PackedMask], rng: np.random.Generator) -> Segments:
    """Return what the prompt asks for, and other objects, in random places."""
    assert prompt.scene is not None
    asked = [each.cls for each in prompt.scene.objects for _ in range(each.count)]
    numbers = [next(n for n, label in enumerate(LABELS) if label.same_as(cls)) for cls in asked]
    classes = [*numbers, *rng.integers(len(LABELS), size=DETECTIONS - len(numbers)).tolist()]
    masks = tuple(shapes[n] for n in rng.integers(len(shapes), size=DETECTIONS))
    return Segments(
        size=(SIZE, SIZE),
        boxes=np.array([mask.box for mask in masks], np.float32),
        scores=rng.uniform(0.05, 1, DETECTIONS).astype(np.float32),
        classes=np.array(classes, np.int16),
        labels=LABELS,
        class_probs=np.full((DETECTIONS, len(LABELS)), 0.01, np.float32),
        masks=masks,
    )


def _draw_mask(rng: np.random.Generator) -> PackedMask:
    """Return a disc of a random size and place."""
    y, x = np.mgrid[:SIZE, :SIZE]
    (row, column), radius = rng.uniform(0.2, 0.8, 2) * SIZE, rng.uniform(0.05, 0.3) * SIZE
    return PackedMask.pack((y - row) ** 2 + (x - column) ** 2 < radius**2)


def _embed(rng: np.random.Generator) -> Answer:
    return Answer(Embedding(rng.normal(size=WIDTH).astype(np.float32)), {})


if __name__ == "__main__":
    sys.exit(main())
