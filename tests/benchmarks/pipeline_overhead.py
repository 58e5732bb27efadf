"""Time of t2i against a bare loop: a model that sleeps and gives rendered pictures, and a judge that sleeps.

python tests/benchmarks/pipeline_overhead.py [--pairs N] [--images N] [--bars] [--case TEXT]

The bare loop calls the same component and keeps nothing. Each pair runs both, in turn; the ratio is the median of
the pairs' ratios. Prints a line of each case, with the processor time that t2i adds to an image, and with `--bars`
exits with status 1 if a ratio is above its bar. Run it on a machine with two or more cores and no other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from t2i_core import evaluate
from t2i_core.api import (
    Generated,
    GeneratorInfo,
    JudgeInfo,
    Measure,
    Metric,
    MetricInfo,
    Need,
    Options,
    Prompt,
    PromptSourceInfo,
    Query,
    Reward,
    Row,
)
from t2i_core.testing import StaticResolver

RENDERED = 12
"""Number of pictures that the simulator renders; the others are these, moved sideways."""

RENDERED_SIZE = 512
"""Their width and height. Larger pictures are these, enlarged."""


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        work: `generation` or `judging`.
        size: Width and height of a picture.
        seconds: Time that the model or judge takes for a picture.
        bar: The highest ratio allowed.
    """

    work: str
    size: int
    seconds: float
    bar: float

    def __str__(self) -> str:
        return f"{self.work}, {self.size}x{self.size}, {self.seconds * 1000:.0f} ms"


CASES = (
    Case("generation", 512, 0.1, 1.05),
    Case("generation", 1024, 0.4, 1.05),
    Case("generation", 512, 0.025, 1.15),
    Case("judging", 512, 0.05, 1.05),
)


def render_pictures() -> list[np.ndarray]:
    """Return pictures of the simulator, of prompts with two objects. Another process renders and ends."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "t2i_cli", "generate", "--model", "simulator", "--prompts", "tiam-5-2"]
        command += ["--limit", str(RENDERED), "--seeds", "1", "-o", f"simulator.size={RENDERED_SIZE}"]
        environ = {**os.environ, "T2I_CACHE_DIR": str(Path(folder) / "cache")}
        subprocess.run([*command, "--out", str(run)], env=environ, check=True, stdout=sys.stderr)
        return [np.asarray(Image.open(file)) for file in sorted((run / "images").rglob("*.png"))]


def vary(pictures: Sequence[np.ndarray], size: int, count: int) -> np.ndarray:
    """Return that many different pictures of this size."""
    sized = [np.asarray(Image.fromarray(each).resize((size, size), Image.Resampling.BICUBIC)) for each in pictures]
    return np.stack([np.roll(sized[n % len(sized)], n // len(sized), axis=1) for n in range(count)])


class SleepingModel:
    """Give a picture of a file for each request, after some time."""

    def __init__(self, file: str, seconds: float) -> None:
        self.pictures, self.seconds = np.load(file), seconds

    def generate(self, requests: Any) -> Iterator[Any]:
        for request in requests:
            time.sleep(self.seconds)
            yield request, Generated(self.pictures[int(request.prompt.id)])


class SleepingJudge:
    """Answer each query after some time, the picture's pixels being at hand."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        for query in queries:
            brightness = int(query.images[0].pixels[0, 0, 0])
            time.sleep(self.seconds)
            yield query, Reward(brightness / 255)


class JudgedNumber(Metric):
    """Take the judge's number."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Any]:
        yield Row("reward", unit.one().one("reward").value)


@dataclass(frozen=True)
class Bench:
    """The components of one case.

    Attributes:
        case: The case.
        file: The file with a picture for each prompt. Components get its name, because t2i hashes what they hold.
        count: Number of pictures.
    """

    case: Case
    file: str
    count: int

    @classmethod
    def prepare(cls, case: Case, rendered: Sequence[np.ndarray], count: int, folder: str) -> Bench:
        """Write the pictures to a file."""
        file = Path(folder) / f"{case.size}-{count}.npy"
        np.save(file, vary(rendered, case.size, count))
        return cls(case, str(file), count)

    def time_bare(self) -> Seconds:
        """Return the seconds of the component alone, whose answers are dropped."""
        prompts = self._list_prompts(Options())
        if self.case.work == "generation":
            requests = [_Request(prompt) for prompt in prompts]
            return _time(lambda: _exhaust(SleepingModel(self.file, self.case.seconds).generate(requests)))
        queries = [Query(images=(_Pixels(picture),)) for picture in np.load(self.file)]
        return _time(lambda: _exhaust(SleepingJudge(self.case.seconds).observe("reward", queries)))

    def time_t2i(self) -> Seconds:
        """Return the seconds of a run with an empty cache; a judged run has its images there."""
        with tempfile.TemporaryDirectory() as folder:
            os.environ["T2I_CACHE_DIR"] = str(Path(folder) / "cache")
            if self.case.work == "generation":
                return _time(lambda: self._run(Path(folder) / "run", (), self.case.seconds))
            self._run(Path(folder) / "images", (), 0)
            metric = MetricInfo(
                name="number", summary="Number.", create=lambda setup: JudgedNumber(setup), measures=_MEASURES
            )
            return _time(lambda: self._run(Path(folder) / "run", metric, 0))

    def _run(self, out: Path, metric: Any, seconds: float) -> None:
        file, judging = self.file, self.case.seconds
        source = PromptSourceInfo(name="numbers", summary="Numbers.", prompts=self._list_prompts)
        model = GeneratorInfo(name="sleeper", summary="Sleeps.", create=lambda _: SleepingModel(file, seconds))
        judge = JudgeInfo(
            name="sleeper",
            summary="Sleeps.",
            capabilities={"reward": frozenset()},
            create=lambda _: SleepingJudge(judging),
        )
        resolver = StaticResolver(source, judge)
        run = evaluate(metric, model, prompts="numbers", seeds=1, out=out, resolver=resolver, progress=False)
        if run.failed:
            raise SystemExit(f"{self.case}: the run failed")

    def _list_prompts(self, options: Any) -> list[Prompt]:
        return [Prompt(str(n), f"picture {n}") for n in range(self.count)]


_MEASURES = (Measure("reward", "Number."),)


@dataclass(frozen=True)
class _Request:
    prompt: Prompt


@dataclass(frozen=True)
class _Pixels:
    pixels: np.ndarray


def _exhaust(answers: Iterator[Any]) -> None:
    for _ in answers:
        pass


class Seconds(NamedTuple):
    """How long some work takes: by the clock, and of all processors."""

    clock: float
    processor: float


def _time(work: Callable[[], object]) -> Seconds:
    started, used = time.perf_counter(), time.process_time()
    work()
    return Seconds(time.perf_counter() - started, time.process_time() - used)


def measure(bench: Bench, pairs: int) -> str:
    """Return a line with medians; it ends with MISSED if t2i takes too long."""
    bare, ours = [], []
    for number in range(pairs):
        for each in (bare, ours) if number % 2 else (ours, bare):
            each.append(bench.time_bare() if each is bare else bench.time_t2i())
    ratio = statistics.median(b.clock / a.clock for a, b in zip(bare, ours, strict=True))
    seconds = [statistics.median(each.clock for each in some) for some in (bare, ours)]
    used = statistics.median(b.processor - a.processor for a, b in zip(bare, ours, strict=True))
    bar, added = bench.case.bar, used / bench.count * 1000
    line = f"{bench.case}: bare {seconds[0]:.2f} s, t2i {seconds[1]:.2f} s, ratio {ratio:.3f}, bar {bar:.2f}, "
    return f"{line}processor {added:.0f} ms an image{' MISSED' if ratio > bar else ''}"


def main(arguments: Sequence[str]) -> None:
    """Measure, print, and hold the ratios to their bars if asked to."""
    parser = argparse.ArgumentParser(description="Time of t2i against a bare loop.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--case", default="", help="only the cases whose line has this text")
    parser.add_argument("--bars", action="store_true", help="exit with status 1 if a ratio is above its bar")
    asked = parser.parse_args(arguments)
    missed = False
    cases = [case for case in CASES if asked.case in str(case)]
    if not cases:
        parser.error(f"--case: no case has {asked.case!r}; the cases are {'; '.join(map(str, CASES))}")
    rendered = render_pictures()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            Bench.prepare(case, rendered, 2, folder).time_t2i()  # imports all that a run needs
            line = measure(Bench.prepare(case, rendered, asked.images, folder), asked.pairs)
            missed |= line.endswith("MISSED")
            print(line, flush=True)
    if asked.bars and missed:
        raise SystemExit("a ratio is above its bar")


if __name__ == "__main__":
    main(sys.argv[1:])
