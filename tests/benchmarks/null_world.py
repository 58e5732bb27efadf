"""A generator, a judge and a metric that answer at once, for benchmarks of t2i itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

PROMPTS = 100
"""Number of prompts; the number of samples must be a multiple of it."""

_PLACES = ("t2i_core.api", "t2i_core", "t2i_core.testing")
"""Modules that may export the contracts: `sample_cost.py --compare` runs this file on other commits, too."""


def _find(name: str) -> Any:
    for place in _PLACES:
        try:
            module = import_module(place)
        except ModuleNotFoundError as error:
            if error.name != place:
                raise
            continue
        if hasattr(module, name):
            return getattr(module, name)
    raise ImportError(f"none of {', '.join(_PLACES)} exports {name}; correct _PLACES in {__file__}")


Generated, GeneratorInfo, JudgeInfo = _find("Generated"), _find("GeneratorInfo"), _find("JudgeInfo")
Measure, Metric, MetricInfo, Need = _find("Measure"), _find("Metric"), _find("MetricInfo"), _find("Need")
Prompt, PromptSourceInfo, Reward, Row = _find("Prompt"), _find("PromptSourceInfo"), _find("Reward"), _find("Row")
StaticResolver, evaluate = _find("StaticResolver"), _find("evaluate")

PIXELS = np.full((8, 8, 3), 200, np.uint8)


class Null:
    """Generate the same grey image for every sample, and see the same in every image."""

    def __init__(self, setup: Any) -> None:
        pass

    def generate(self, requests: Any) -> Iterator[Any]:
        return ((request, Generated(PIXELS)) for request in requests)

    def observe(self, capability: str, queries: Any) -> Iterator[Any]:
        return ((query, Reward(0.5)) for query in queries)


class NullOfManyColours(Null):
    """Generate an image of its own colour for each sample: no two samples share a file or an answer."""

    def generate(self, requests: Any) -> Iterator[Any]:
        return (
            (request, Generated(paint(int(request.prompt.id) + PROMPTS * request.seed))) for request in requests
        )


def paint(number: int) -> Any:
    """Return a tiny image of one colour, a different one for each number below 2**24 - 1, and never black."""
    return np.full((8, 8, 3), (number & 255, number >> 8 & 255, 255 - (number >> 16)), np.uint8)


class NullMetric(Metric):
    """Take the judge's number."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Any]:
        yield Row("reward", unit.one().one("reward").value)


def evaluate_null(samples: int, out: Path, generator: type[Null] = Null) -> int:
    """Evaluate the null world into a run folder, with the cache that `T2I_CACHE_DIR` names.

    Args:
        samples: Number of samples, a multiple of `PROMPTS`.
        out: The run folder.
        generator: The class of the generator.

    Returns:
        The number of samples that have a value.
    """
    source = PromptSourceInfo(
        name="null", summary="Numbers.", prompts=lambda s: [Prompt(str(i), f"prompt {i}") for i in range(PROMPTS)]
    )
    judge = JudgeInfo(name="null", summary="Null.", capabilities={"reward": frozenset()}, create=Null)
    model = GeneratorInfo(name="null", summary="Null.", create=generator)
    metric = MetricInfo(name="null", summary="Null.", create=NullMetric, measures=(Measure("reward", "Number."),))
    resolver = StaticResolver(source, judge)
    evaluate(metric, model, prompts="null", seeds=samples // PROMPTS, out=out, resolver=resolver)
    # read from the file, because earlier commits, which the figures are compared with, return other objects
    return int(json.loads((out / "run.json").read_text(encoding="utf-8"))["results"][0]["n_ok"])
