"""A model and a judge for tests of workers: quick, deterministic, and able to fail in every way.

The text of a prompt says what the model does with it: `raise`, `exit` (the process ends), `break` (a
BrokenPlugin), `exit once FILE` (it ends unless the file exists), `file
FILE`. Every other prompt is drawn as a picture.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from t2i_core.api import (
    Failure,
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
    Setup,
    hookimpl,
)
from t2i_core.api.errors import BrokenPlugin
from t2i_core.api.options import Options

NAME = "toy-world"


class ToyOptions(Options):
    """Options of the toy model.

    Attributes:
        sleep: Seconds that an image takes.
        size: Width and height in pixels.
        flat: Whether each picture has one colour.
        create: What creating the model does (`exit`, `raise`).
        exit: Whether every image ends the process.
        report: What reading the settings does (`exit`, `exit once FILE`, `number`, `gpus`).
    """

    sleep: float = 0
    size: int = 16
    flat: bool = False
    create: str = ""
    exit: bool = False
    report: str = ""


class Toy:
    """The model."""

    def __init__(self, setup: Setup[ToyOptions]) -> None:
        self.options = setup.options
        if self.options.create == "exit":
            os._exit(7)
        if self.options.create == "raise":
            raise ValueError("the weights are torn")

    @property
    def settings(self) -> Any:
        words = self.options.report.split()
        if _shall_exit(words):
            os._exit(5)
        if words == ["gpus"]:
            return {"gpus": os.environ.get("CUDA_VISIBLE_DEVICES")}
        return 5 if words == ["number"] else {"size": self.options.size}

    def generate(self, requests: Iterable[Any]) -> Iterator[tuple[Any, Generated | Failure]]:
        for request in requests:
            time.sleep(self.options.sleep)
            yield request, self.draw(request)

    def draw(self, request: Any) -> Generated | Failure:
        words = request.prompt.text.split()
        if self.options.exit or _shall_exit(words):
            os._exit(9)
        if words[0] == "raise":
            raise ValueError("this prompt cannot be drawn")
        if words[0] == "break":
            raise BrokenPlugin("the toy is broken; buy another one")
        if words[0] == "file":
            return Generated(Path(words[1]))
        if words[0] == "unsafe":
            return Failure("a safety filter", final=True)
        seed = sha256(f"{request.prompt.text} {request.noise_seed}".encode()).digest()
        size = self.options.size
        if self.options.flat:
            return Generated(np.full((size, size, 3), np.frombuffer(seed[:3], np.uint8), np.uint8))
        drawn = np.random.default_rng(list(seed)).integers(0, 256, (size, size, 3), np.uint8)
        return Generated(drawn, record={"brightness": float(drawn.mean())})


def _shall_exit(words: list[str]) -> bool:
    return words[:1] == ["exit"] and (words[1:2] != ["once"] or _is_first(words[2]))


def _is_first(name: str) -> bool:
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class ToyJudge:
    """The judge: the mean of the pixels."""

    def __init__(self, setup: Setup[ToyOptions]) -> None:
        self.options = setup.options

    def observe(self, capability: str, queries: Iterable[Any]) -> Iterator[tuple[Any, Reward]]:
        for query in queries:
            time.sleep(self.options.sleep)
            if self.options.exit:
                os._exit(9)
            yield query, Reward(float(query.images[0].pixels.mean()))


class ToyMetric(Metric):
    """The judge's number."""

    needs = (Need("reward", "reward", queries=lambda samples: [samples[0].query_with_text()]),)

    def measure(self, unit: Any) -> Iterator[Row]:
        yield Row("reward", unit.one().one("reward").value)


def _prompts(setup: Setup[Any]) -> list[Prompt]:
    return [Prompt(str(i), f"picture {i}") for i in range(20)]


@hookimpl
def t2i_generators() -> list[GeneratorInfo]:
    return [GeneratorInfo(name="toy", summary="Toy.", create=Toy, options=ToyOptions)]


@hookimpl
def t2i_judges() -> list[JudgeInfo]:
    return [
        JudgeInfo(
            name="toy-judge",
            summary="Toy.",
            capabilities={"reward": frozenset()},
            create=ToyJudge,
            options=ToyOptions,
        )
    ]


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    return [
        MetricInfo(name="toy-metric", summary="Toy.", create=ToyMetric, measures=(Measure("reward", "Number."),))
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    return [PromptSourceInfo(name="toy-prompts", summary="Twenty.", prompts=_prompts)]
