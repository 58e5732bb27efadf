"""A small evaluation that uses everything a run stores; it takes a tenth of a second.

Two models and two metrics; images with ground truth and records, observations with derived values, settings;
samples that fail, fail for good or are excluded.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api import (
    Derive,
    Excluded,
    Failure,
    Generated,
    GeneratorInfo,
    Instance,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    ObjectClass,
    Prompt,
    PromptMetric,
    PromptSourceInfo,
    Reward,
    Row,
    Segments,
    Truth,
)
from t2i_core.api.mask import PackedMask
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.testing import StaticResolver
from t2i_folder.plugin import t2i_generators

WIDTH, HEIGHT = 20, 16
LABELS = (ObjectClass("disc", None), ObjectClass("box", None))
PROMPTS = tuple(
    Prompt(str(n), text, facets={"length": len(text) // 10})
    for n, text in enumerate(["a disc", "a box\non two lines", "a disc, and a “box” ☕", "nothing to be seen"])
)
SEEDS = (0, 1, 2, 3)

IMAGES = {"scores": 23, "data": 11}
"""How many images each kind of run keeps: the last prompt fails for good, one sample of the first model fails."""

CODE = (f"**/{Path(__file__).name}",)
"""The results depend on this file alone; other tests in its folder may change."""


class Painter:
    """Generate noise with a disc and a box; fail for the last prompt, and, if dark, for one other sample."""

    def __init__(self, light: int) -> None:
        self.light = light
        self.settings = {"light": light, "size": [WIDTH, HEIGHT]}

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            if request.prompt is PROMPTS[-1]:
                yield request, Failure("there is nothing to paint", final=True)
            elif (self.light, request.prompt.id, request.seed) == (120, "1", 3):
                yield request, Failure("the brush was lost")
            else:
                yield request, self.paint(int(request.prompt.id), request.seed)

    def paint(self, prompt: int, seed: int) -> Generated:
        rng = np.random.default_rng([self.light, prompt, seed])
        pixels = rng.integers(1, self.light, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        y, x = np.mgrid[:HEIGHT, :WIDTH]
        disc = (x - rng.integers(3, 8)) ** 2 + (y - 8) ** 2 <= rng.integers(4, 20)
        box = (abs(x - 15) < rng.integers(2, 5)) & (abs(y - rng.integers(4, 12)) < 4)
        instances = []
        for cls, mask, value in zip(LABELS, (disc, box), (220, 160), strict=True):
            pixels[mask] = value
            packed = PackedMask.pack(mask)
            instances.append(Instance(cls, "grey", packed.box, packed, {"edge": "sharp"}))
        return Generated(pixels, {"strokes": int(disc.sum())}, Truth((WIDTH, HEIGHT), tuple(instances)))


class LightMeter:
    """Return the mean of the pixels, plus a thousandth per character of the text."""

    def __init__(self) -> None:
        self.settings = {"shutter": "open"}

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()) + len(query.texts[0]) / 1000)


class TruthReader:
    """Return the ground truth as segments."""

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            truth = query.images[0].truth
            yield (
                query,
                Segments(
                    size=truth.size,
                    boxes=np.array([i.box for i in truth.instances], np.float32),
                    scores=np.ones(len(truth.instances), np.float32),
                    classes=np.array([LABELS.index(i.cls) for i in truth.instances], np.int16),
                    labels=LABELS,
                    class_probs=None,
                    masks=tuple(i.mask for i in truth.instances),
                ),
            )


class Brightness(Metric):
    """Measure how bright each image is; exclude one sample."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Any]:
        value = unit.one().one("reward").value
        if unit.seed == 2 and unit.prompt.id == "0":
            yield Excluded("this sample is excluded")
            return
        yield Row("brightness", value, {"half": "upper" if value > 100 else "lower"})
        yield Row("bright", float(value > 100))


def average_colours(pixels: Any, segments: Any) -> dict[str, Any]:
    """Return the mean of each object's pixels."""
    return {"means": np.array([pixels[m.unpack()].mean() for m in segments.masks], np.float64)}


class Area(PromptMetric):
    """Measure the area and the colour of the objects, per prompt."""

    needs = (Need("objects", "segment", derive=Derive("colours", average_colours)),)

    def measure(self, unit: Any) -> Iterator[Row]:
        observed = list(unit.observed)
        yield Row("area", float(np.mean([sum(m.area() for m in o.one("objects").masks) for o in observed])))
        yield Row("colour", float(np.mean([o.derived("objects")["means"].mean() for o in observed])))


BRIGHTNESS = MetricInfo(
    name="brightness",
    summary="Brightness of images.",
    create=Brightness,
    measures=(Measure("brightness", "Mean.", facets=("length", "half")), Measure("bright", "Above 100.")),
    code=CODE,
)
AREA = MetricInfo(
    name="area",
    summary="Area of objects.",
    create=Area,
    measures=(Measure("area", "Pixels."), Measure("colour", "Mean.")),
    code=CODE,
)


def describe_painter(light: int) -> GeneratorInfo:
    """Return the descriptor of a model whose noise reaches this brightness."""
    return GeneratorInfo(
        name=f"painter-{light}",
        summary="Paints.",
        create=partial(_create_painter, light),
        labels=lambda argument, options: LABELS,
        code=CODE,
    )


def _create_painter(light: int, setup: Any) -> Painter:
    return Painter(light)


FOUR = PromptSourceInfo(name="four", summary="Four prompts.", prompts=lambda setup: PROMPTS, code=CODE)
LIGHT_METER = JudgeInfo(
    name="light-meter",
    summary="Measures light.",
    capabilities={"reward": frozenset()},
    create=lambda setup: LightMeter(),
    code=CODE,
)
TRUTH_READER = JudgeInfo(
    name="truth-reader",
    summary="Reads the truth.",
    capabilities={"segment": frozenset()},
    create=lambda setup: TruthReader(),
    labels=lambda argument, options: LABELS,
    reads_truth=True,
    code=CODE,
)
RESOLVER = StaticResolver(FOUR, LIGHT_METER, TRUTH_READER, *t2i_generators())


def make_request(kind: str, run: Path) -> Request:
    """Return a request: `scores` of two models, `data` (one model's images alone), or scores of `folder:DIR`."""
    if kind == "scores":
        models: tuple[ModelRequest, ...] = tuple(ModelRequest(describe_painter(light)) for light in (120, 200))
        return Request((BRIGHTNESS, AREA), models, ("four",), seeds=SEEDS, out=run, max_failed=0.5)
    if kind == "data":
        return Request((), (ModelRequest(describe_painter(120)),), ("four",), seeds=SEEDS, out=run, max_failed=0.5)
    return Request((BRIGHTNESS,), (ModelRequest(kind),), out=run, max_failed=0.5)
