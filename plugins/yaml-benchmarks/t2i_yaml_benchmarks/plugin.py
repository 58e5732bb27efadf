"""The plugin module of benchmarks in YAML files. Imports no heavy library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from t2i_core.api import (
    About,
    Defaults,
    Loading,
    Measure,
    MetricInfo,
    Options,
    Prompt,
    PromptSourceInfo,
    Setup,
    hookimpl,
)
from t2i_core.api.errors import BadOption

if TYPE_CHECKING:
    from t2i_core.api import Metric

    from t2i_yaml_benchmarks.benchmark_file import BenchmarkFile

_ARGUMENT = "FILE.yaml: the benchmark"


@hookimpl
def t2i_metrics() -> list[MetricInfo]:
    """Return the descriptor of the metric."""
    return [
        MetricInfo(
            name="yaml",
            summary="Your own benchmark: questions about the images and a rule for the score, in YAML.",
            argument=_ARGUMENT,
            needs_argument=True,
            create=_create,
            loading=Loading(weights=_list_files),
            measures=(Measure("score", "The score of an image by the file's rule.", facets=("*",)),),
            describe=_describe,
            about=About(
                meaning="Score of the images by the rule of the benchmark's file, from the answers to its "
                "questions.",
                limits="What the file does not ask about does not count, and the judges' wrong answers are part "
                "of the score.",
            ),
        )
    ]


@hookimpl
def t2i_prompt_sources() -> list[PromptSourceInfo]:
    """Return the descriptor of the prompts that a benchmark's file lists."""
    return [
        PromptSourceInfo(
            name="yaml",
            summary="The prompts that a benchmark's YAML file lists.",
            argument=_ARGUMENT,
            needs_argument=True,
            prompts=_list_prompts,
            loading=Loading(weights=_list_files),
        )
    ]


def _read(argument: str | None) -> BenchmarkFile:
    from t2i_yaml_benchmarks.benchmark_file import read_benchmark

    if argument is None:
        raise BadOption(f"metric 'yaml' needs an argument: yaml:ARGUMENT ({_ARGUMENT})")
    return read_benchmark(argument)


def _create(setup: Setup[Options]) -> Metric:
    from t2i_yaml_benchmarks.metric import YamlBenchmark

    return YamlBenchmark(setup, _read(setup.argument))


def _list_files(argument: str | None, options: Options) -> Iterable[Path]:
    file = _read(argument)
    return [file.path, *([] if file.prompt_file is None else [file.prompt_file])]


def _list_prompts(setup: Setup[Options]) -> Iterable[Prompt]:
    file = _read(setup.argument)
    if file.prompts is None:
        raise BadOption(f"{file.path}: lists no prompts; name those that it takes: {file.benchmark.prompts}")
    return file.prompts


def _describe(argument: str | None, options: Options) -> MetricInfo:
    """Return the descriptor of the benchmark in a file: its measures, prompts, seeds and judges."""
    from t2i_yaml_benchmarks.metric_measures import list_measures, number_version

    file = _read(argument)
    benchmark = file.benchmark
    (info,) = t2i_metrics()
    return replace(
        info,
        summary=benchmark.summary,
        measures=list_measures(file),
        defaults=Defaults(
            prompts=str(benchmark.prompts) if file.prompts is None else f"yaml:{argument}",
            seeds=benchmark.seeds,
            judges=benchmark.judges,
        ),
        about=info.about.overlay(About(citation=benchmark.citation)),
        version=number_version(file),
    )
