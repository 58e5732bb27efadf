"""A plugin whose components are quick, an environment that has no other plugin, and the command line in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from t2i_core.testing.fake_dists import fake_dist, forget_modules
from typer.testing import CliRunner

TOY = """
    import os
    from typing import Annotated
    import numpy as np
    import pandas as pd
    from pydantic import Field
    from t2i_core.api import (
        About, ExecutionOption, Failure, Generated, GeneratorInfo, JudgeInfo, Measure, Metric, MetricInfo,
        Need, Options, Prompt, PromptSourceInfo, Reward, Row, hookimpl,
    )
    from t2i_core.api.study import Analysis

    class GreyOptions(Options):
        level: int = Field(128, ge=0, le=255, description="How bright the squares are.")
        fail: int = Field(0, description="Fail every n-th image.")
        stop: int = Field(0, description="Be interrupted at the n-th image.")

    class Grey:
        def __init__(self, setup):
            self.options = setup.options
            print("noise on standard output")
            os.system("echo noise of a child")

        def generate(self, requests):
            for n, request in enumerate(requests, 1):
                if self.options.stop == n:
                    raise KeyboardInterrupt
                if "TOY_SIGNAL" in os.environ:
                    number, *swallowed = os.environ.pop("TOY_SIGNAL").split()
                    try:
                        os.kill(os.getpid(), int(number))
                    except KeyboardInterrupt:
                        if "twice" in swallowed:
                            os.kill(os.getpid(), int(number))
                        if "nowhere" not in swallowed:
                            raise ValueError("on the way out") if swallowed else KeyboardInterrupt
                if self.options.fail and request.seed % self.options.fail == 0:
                    yield request, Failure("blank")
                else:
                    shade = min(255, self.options.level + request.seed + len(request.prompt.text))
                    yield request, Generated(np.full((8, 8, 3), shade, np.uint8))

    class Brightness:
        def observe(self, capability, queries):
            for query in queries:
                yield query, Reward(float(query.images[0].pixels.mean()) / 255)

    class MeanOptions(Options):
        called: Annotated[str, ExecutionOption()] = Field("Means", description="What analyses call them.")
        over: float = Field(0.5, description="From where on it is bright.")

    class Mean(Metric):
        needs = (Need("reward", capability="reward", queries=lambda samples: [samples[0].query_with_text()]),)

        def measure(self, unit):
            for observed in unit.observed:
                value = observed.one("reward").value
                yield Row("brightness", value)
                yield Row("bright", float(value > self.options.over))

        def analyses(self, study):
            means = study.table.groupby(["model", "prompt"])["value"].mean().reset_index()
            yield Analysis("prompts", f"{self.options.called} of prompts.", means)
            settings = [(label, str(dict(given))) for label, given in study.settings.items()]
            yield Analysis("settings", f"others: {study.others}", pd.DataFrame(settings))

    @hookimpl
    def t2i_generators():
        return [GeneratorInfo(name="grey", summary="Grey squares.", options=GreyOptions, create=Grey)]

    @hookimpl
    def t2i_judges():
        return [
            JudgeInfo(
                name="meter", summary="Mean pixel.", capabilities={"reward": frozenset()},
                create=lambda setup: Brightness(), about=About(licence="MIT"),
            )
        ]

    @hookimpl
    def t2i_metrics():
        return [
            MetricInfo(
                name="brightness", summary="How bright.", create=Mean, about=About(citation="Doe 2020"),
                options=MeanOptions,
                measures=(
                    Measure("brightness", "Mean.", low=0, high=1, facets=("size",)),
                    Measure("bright", "Share.", low=0, high=1),
                ),
            )
        ]

    @hookimpl
    def t2i_prompt_sources():
        def prompts(setup):
            for n in range(4):
                yield Prompt(id=f"p{n}", text="x" * n, facets={"size": "big" if n > 1 else "small"})
        return [PromptSourceInfo(name="four", summary="Four prompts.", prompts=prompts)]
"""
TOY_ENTRIES = {
    "t2i.generators": {"grey": "toy_plugin"},
    "t2i.judges": {"meter": "toy_plugin"},
    "t2i.judges.reward": {"meter": "toy_plugin"},
    "t2i.metrics": {"brightness": "toy_plugin"},
    "t2i.prompt_sources": {"four": "toy_plugin"},
}


@cache
def _list_plugins() -> list[str]:
    """Return the distributions that are installed and have components, commands or suites."""
    kinds = ("generators", "judges", "metrics", "prompt_sources", "sinks", "commands", "suites")
    entries = entry_points()
    return sorted({e.dist.name for kind in kinds for e in entries.select(group=f"t2i.{kind}") if e.dist})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of fake distributions that this process and its children see, and no others of t2i."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", ",".join(_list_plugins()))
    monkeypatch.setenv("T2I_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("T2I_DEBUG", raising=False)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(tmp_path)
    yield folder
    forget_modules(folder)


def show_dist(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a distribution be seen again that `site` hides."""
    hidden = os.environ["T2I_DISABLE_PLUGINS"].split(",")
    assert name in hidden
    monkeypatch.setenv("T2I_DISABLE_PLUGINS", ",".join(each for each in hidden if each != name))


@pytest.fixture
def install(site: Path) -> Callable[..., None]:
    """Install a fake distribution."""
    return lambda name, *rest, **more: fake_dist(site, name, *rest, **more)


@pytest.fixture
def toy(install: Callable[..., None]) -> None:
    """Install the plugin `toy`: a generator, a judge, a metric and prompts, all of them quick."""
    install("toy", TOY_ENTRIES, {"toy_plugin": TOY}, version="0.7", summary="A toy.")


@pytest.fixture
def t2i(site: Path):
    """Run the command in this process."""
    from t2i_cli.app import app

    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def t2i_process(site: Path):
    """Run the command in its own process, as a user does."""

    def run(
        *words: object, stderr: int = subprocess.PIPE, stdin: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "t2i_cli", *map(str, words)]
        return subprocess.run(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            check=False,
            env=dict(os.environ),
        )

    return run
