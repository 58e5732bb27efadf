"""A small evaluation with all that is kept: images with truth and record, failures, settings, observations and
what is derived from them; two models, two metrics, samples that fail or are left out. A run takes a tenth of a
second.

python small_world.py CACHE RUN KIND [--limit BYTES] [--user UID]      ends as `t2i` does: one line, an exit code
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core import Run
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
    T2IError,
    Truth,
)
from t2i_core.api.mask import PackedMask
from t2i_core.api.progress import Progress
from t2i_core.engine.plan import make_plan
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.run import run_plan
from t2i_core.files.digest import _file_digest
from t2i_core.testing import StaticResolver
from t2i_folder.plugin import t2i_generators

WIDTH, HEIGHT = 20, 16
LABELS = (ObjectClass("disc", None), ObjectClass("box", None))
PROMPTS = tuple(
    Prompt(str(n), text, facets={"length": len(text) // 10})
    for n, text in enumerate(["a disc", "a box\non two lines", "a disc, and a “box” ☕", "nothing to be seen"])
)
SEEDS = (0, 1, 2, 3)
#: A shard of the tests' folder in git changes all the time; what these parts make depends on this file alone.
CODE = (f"**/{Path(__file__).name}",)


class Painter:
    """Paints a disc and a box on noise; never paints the last prompt, and, painting darkly, fails on one seed."""

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
                yield request, self.painted(int(request.prompt.id), request.seed)

    def painted(self, prompt: int, seed: int) -> Generated:
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


class Eye:
    """Says how bright an image is."""

    def __init__(self) -> None:
        self.settings = {"eye": "open"}

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            yield query, Reward(float(query.images[0].pixels.mean()) + len(query.texts[0]) / 1000)


class Teller:
    """Says what is really there."""

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
    """How bright an image is, and whether it is bright; one seed is left out."""

    needs = (Need("reward", "reward"),)

    def measure(self, unit: Any) -> Iterator[Any]:
        value = unit.one().one("reward").value
        if unit.seed == 2 and unit.prompt.id == "0":
            yield Excluded("this one is not to be counted")
            return
        yield Row("brightness", value, {"half": "upper" if value > 100 else "lower"})
        yield Row("bright", float(value > 100))


def colours(pixels: Any, segments: Any) -> dict[str, Any]:
    """The mean of each object's pixels."""
    return {"means": np.array([pixels[m.unpack()].mean() for m in segments.masks], np.float64)}


class Area(PromptMetric):
    """How much of an image its objects cover, and how they are coloured, by prompt."""

    needs = (Need("objects", "segment", derive=Derive("colours", colours)),)

    def measure(self, unit: Any) -> Iterator[Row]:
        observed = list(unit.observed)
        yield Row("area", float(np.mean([sum(m.area() for m in o.one("objects").masks) for o in observed])))
        yield Row("colour", float(np.mean([o.derived("objects")["means"].mean() for o in observed])))


BRIGHTNESS = MetricInfo(
    name="brightness",
    summary="How bright.",
    create=Brightness,
    measures=(Measure("brightness", "Mean.", facets=("length", "half")), Measure("bright", "Whether bright.")),
    code=CODE,
)
AREA = MetricInfo(
    name="area",
    summary="How large.",
    create=Area,
    measures=(Measure("area", "Pixels."), Measure("colour", "Mean.")),
    code=CODE,
)


def painter(light: int) -> GeneratorInfo:
    """A model whose noise is so bright."""
    return GeneratorInfo(
        name=f"painter-{light}",
        summary="Paints.",
        create=partial(_painter, light),
        labels=lambda argument, options: LABELS,
        code=CODE,
    )


def _painter(light: int, setup: Any) -> Painter:
    return Painter(light)


FOUR = PromptSourceInfo(name="four", summary="Four.", prompts=lambda setup: PROMPTS, code=CODE)
EYE = JudgeInfo(
    name="eye", summary="Looks.", capabilities={"reward": frozenset()}, create=lambda setup: Eye(), code=CODE
)
TELLER = JudgeInfo(
    name="teller",
    summary="Tells.",
    capabilities={"segment": frozenset()},
    create=lambda setup: Teller(),
    labels=lambda argument, options: LABELS,
    reads_truth=True,
    code=CODE,
)
RESOLVER = StaticResolver(FOUR, EYE, TELLER, *t2i_generators())


def request(kind: str, run: Path) -> Request:
    """What is asked for: `scores` of two models, the `data` set of one, or scores of `folder:DIR`."""
    if kind == "scores":
        models: tuple[ModelRequest, ...] = (ModelRequest(painter(120)), ModelRequest(painter(200)))
        return Request((BRIGHTNESS, AREA), models, ("four",), seeds=SEEDS, out=run, max_failed=0.5)
    if kind == "data":
        return Request((), (ModelRequest(painter(120)),), ("four",), seeds=SEEDS, out=run, max_failed=0.5)
    return Request((BRIGHTNESS,), (ModelRequest(kind),), out=run, max_failed=0.5)


def carry_out(cache: Path, run: Path, kind: str = "scores", progress: Progress | None = None) -> Run:
    """Evaluate as a new process would: without remembering what files contained."""
    os.environ["T2I_CACHE_DIR"] = str(cache)
    _file_digest.cache_clear()
    return run_plan(make_plan(request(kind, run), RESOLVER), progress)


def main(words: Sequence[str] | None = None) -> int:
    """Evaluate under a limit, or as another user; what a user can mend is one line."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("cache", type=Path)
    asked.add_argument("run", type=Path)
    asked.add_argument("kind")
    asked.add_argument("--limit", type=int, help="no file may be larger than so many bytes")
    asked.add_argument("--user", type=int, help="the user's number")
    given = asked.parse_args(words)
    return ended(partial(carry_out, given.cache, given.run, given.kind), given.limit, given.user)


def ended(work: Callable[[], Run], limit: int | None = None, user: int | None = None) -> int:
    """Do the work under a limit, or as another user, and say how it ended, as the command line does."""
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.dont_write_bytecode = True  # the half of a module would be there for all processes
    if user is not None:
        os.setgid(user)
        os.setuid(user)
    try:
        run = work()
    except T2IError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 8 if run.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
