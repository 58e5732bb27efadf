"""Requests of users: one evaluation, the same for the command line, a recipe and Python.

The fields of `Request` are the options of `t2i eval`, the keys of a recipe and the arguments of `evaluate`. Each
states its type, limits, default and help text once; its `CommandOption` says how a command line writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, model_validator

from ..api.plugin_info import GeneratorInfo, MetricInfo, PromptSourceInfo, SinkInfo
from ..files.home_folder import expand_home, expand_path
from .request_field import CommandOption, ReadBy, validated
from .request_values import (
    check_device,
    list_values,
    read_batch_size,
    read_names,
    read_people,
    read_seeds,
    read_shard,
    read_until,
    split_label,
    split_prompts,
)

NoisePolicy = Literal["shared", "per-prompt"]
Question = Literal["new", "prompts", "seeds"]

PLUGIN_COMMAND = "a plugin's command"
"""Stands in `CommandOption.commands` for the commands of plugins that run evaluations."""

RUNNING = ("eval", "generate", PLUGIN_COMMAND)
"""Commands that run an evaluation."""

LOCAL = "local"
"""The executor that runs components in this process."""

AUTO = "auto"
"""The device that stands for all GPUs."""

MAX_MODELS = 10_000
"""Number of models that one `ModelRequest` may stand for."""


def _read_spec(value: Any) -> Any:
    models = tuple(_describe_in_memory(each) if callable(each) else each for each in list_values(value))
    names = read_names(str, GeneratorInfo)(models)
    if not names:
        raise ValueError("must name at least one generator (got [])")
    return names[0] if isinstance(value, str | GeneratorInfo) or callable(value) else names


def _describe_in_memory(model: Any) -> GeneratorInfo:
    from .callable_model import describe_callable  # imports numpy, which a command line does not need

    return describe_callable(model)


def _read_model(value: Any) -> Any:
    """Return a bare generator as the fields of a `ModelRequest`."""
    if isinstance(value, str):
        label, spec = split_label(value)
        return {"model": spec, "label": label}
    if isinstance(value, GeneratorInfo) or callable(value):
        return {"model": value}
    if not isinstance(value, Mapping | ModelRequest):
        raise ValueError(
            f"must be a generator, or an entry with model, label, settings and matrix (got {value!r})"
        )
    return value


def _read_prompts(value: Any) -> tuple[str, ...]:
    names = read_names(str, PromptSourceInfo)(value)
    return tuple(expand_home(name) if isinstance(name, str) else name for name in names)


def _read_default_prompts(value: Any) -> tuple[str, ...]:
    named = map(split_prompts, read_names(str)(value))
    return tuple(f"{metric}={expand_home(name)}" if metric else expand_home(name) for metric, name in named)


@validated
class ModelRequest:
    """One generator under one setting, or every combination of several generators and settings."""

    spec: Annotated[
        str | GeneratorInfo | Callable[..., Any] | tuple[str | GeneratorInfo | Callable[..., Any], ...],
        ReadBy(_read_spec, str | list[str]),
        Field(
            description="Generator, as `--model` takes it; or several.",
            validation_alias=AliasChoices("model", "spec"),
        ),
    ]
    label: Annotated[str | None, Field(description="Name in results. Default: the model with its settings.")] = (
        None
    )
    settings: Annotated[Mapping[str, Any], Field(description="Options of the generator for this entry alone.")] = (
        field(default_factory=dict)
    )
    matrix: Annotated[
        Mapping[str, Annotated[list[Any], Field(min_length=1)]],
        Field(description="Options with several values each: the entry stands for every combination."),
    ] = field(default_factory=dict)

    @model_validator(mode="after")
    def _check_matrix(self) -> Self:
        if both := self.settings.keys() & self.matrix.keys():
            raise ValueError(f"must not have {', '.join(sorted(both))} in settings and in matrix")
        count = len(list_values(self.spec)) * prod(map(len, self.matrix.values()))
        if count > MAX_MODELS:
            raise ValueError(f"must stand for at most {MAX_MODELS} models: split its matrix (got {count})")
        return self

    def expand(self) -> Iterator[ModelRequest]:
        """Yield each generator under each setting; the label of several entries begins the label of each."""
        specs = list_values(self.spec)
        several = len(specs) > 1 or any(len(values) > 1 for values in self.matrix.values())
        for spec, values in product(specs, product(*self.matrix.values())):
            varied = dict(zip(self.matrix, values, strict=True))
            parts = [
                self.label,
                *([getattr(spec, "name", spec)] if len(specs) > 1 else []),
                *(f"{k}={v}" for k, v in varied.items()),
            ]
            label = " ".join(map(str, parts)) if self.label and several else self.label
            yield ModelRequest(spec, label, {**self.settings, **varied})


@validated
class Request:
    """One evaluation: which models and metrics, on what, and how. Each field's description says what it takes."""

    metrics: Annotated[
        tuple[str | MetricInfo, ...],
        ReadBy(read_names(str, MetricInfo), str | list[str]),
        Field(description="Metric."),
        CommandOption("NAME", name="metric", repeated=True, commands=("eval",), completes="metric"),
    ] = ()
    models: Annotated[
        tuple[
            Annotated[ModelRequest, BeforeValidator(_read_model, json_schema_input_type=str | ModelRequest)], ...
        ],
        BeforeValidator(list_values, json_schema_input_type=str | ModelRequest | list[str | ModelRequest]),
        Field(description="Generator, with a label if one is given; several are compared."),
        CommandOption("[LABEL=]NAME[:ARGUMENT]", name="model", repeated=True, completes="generator"),
    ] = ()
    prompts: Annotated[
        tuple[str | PromptSourceInfo, ...],
        ReadBy(_read_prompts, str | list[str]),
        Field(
            description="Prompt source, or a txt, CSV or JSONL file. Default: the model's own, or the metric's "
            "for the model's domain."
        ),
        CommandOption("NAME|FILE", repeated=True, completes="prompt_source"),
    ] = ()
    default_prompts: Annotated[
        tuple[str, ...],
        ReadBy(_read_default_prompts, str | list[str]),
        Field(
            description="Prompts of one metric in place of its default ones; without METRIC, of all metrics "
            "without default ones. --prompts replaces both."
        ),
        CommandOption("[METRIC=]NAME|FILE", repeated=True, commands=("eval",), completes="prompt_source"),
    ] = ()
    perturb: Annotated[
        tuple[str | PromptSourceInfo, ...],
        ReadBy(read_names(str, PromptSourceInfo), str | list[str]),
        Field(
            description="Draw each model's images once more from the prompts as this prompt source changes them "
            "(typos, paraphrased), as a further model that is scored against the prompts as they were."
        ),
        CommandOption("NAME", repeated=True, commands=RUNNING, completes="prompt_source"),
    ] = ()
    scenes: Annotated[
        str | None,
        AfterValidator(lambda name: name and expand_home(name)),
        Field(
            description="Read the texts of prompts without a scene as scenes, with the classes of this prompt "
            "source, judge or generator (coco, mini), or of a CSV file with the columns name and synset."
        ),
        CommandOption("NAME|FILE"),
    ] = None
    judges: Annotated[
        tuple[str, ...],
        ReadBy(read_names(str), str | list[str]),
        Field(
            description="Judge to take instead of the chosen one. Several that can serve a metric each give their "
            "own results, and the run says how far they agree."
        ),
        CommandOption("[CAPABILITY=]NAME", name="judge", repeated=True, commands=("eval",), completes="judge"),
    ] = ()
    correct: Annotated[
        str | None,
        AfterValidator(lambda people: people and read_people(people)),
        Field(description="People's labels of drawn images, by which the judge's errors are corrected."),
        CommandOption("people:FILE", commands=("eval",)),
    ] = None
    skip_unavailable: Annotated[
        tuple[str, ...],
        ReadBy(read_names(str), str | list[str]),
        Field(
            description="Metric to leave out if it cannot run here (a package, weights, a key or an option is "
            "missing), or all. Otherwise such a metric is refused before anything runs."
        ),
        CommandOption("NAME|all", repeated=True, commands=("eval",), completes="metric"),
    ] = ()
    sinks: Annotated[
        tuple[str | SinkInfo, ...],
        ReadBy(read_names(str, SinkInfo), str | list[str]),
        Field(description="Sink that the finished run is written to, such as an exporter or a tracker."),
        CommandOption("NAME[:ARGUMENT]", name="sink", repeated=True, completes="sink"),
    ] = ()
    seeds: Annotated[
        tuple[int, ...] | None,
        ReadBy(read_seeds, int | str | list[int] | None),
        Field(
            description="Number of seeds counted from 0 (16), a list (0,7), ranges (0-63) or both (0-3,9). "
            "Default: the metric's, or those that a folder of images has."
        ),
        CommandOption("N|LIST|RANGE", commands=RUNNING),
    ] = None
    limit: Annotated[
        int | None,
        Field(
            ge=1,
            description="At most N prompts, as many of each source: a seeded sample spread over their facets.",
        ),
        CommandOption("N", commands=RUNNING),
    ] = None
    until: Annotated[
        str | None,
        ReadBy(read_until, str | None),
        Field(
            description="Draw images in looks and stop when it is safe: verdict (each pair of models differs, or "
            "surely by less than --margin), best (no other model may be better) or width=W (each score's interval "
            "is at most W wide). The prompts and seeds are the most that is drawn."
        ),
        CommandOption("width=W|verdict|best", commands=("eval",)),
    ] = None
    margin: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="With --until verdict or best: the smallest difference that matters, in the unit of the "
            "score. Default: 0.05, if the score has a range.",
        ),
        CommandOption("M", commands=("eval",)),
    ] = None
    max_images: Annotated[
        int | None,
        Field(ge=1, description="With --until: draw at most N images, of all models together."),
        CommandOption("N", commands=("eval",)),
    ] = None
    common_prompts: Annotated[
        bool,
        Field(
            description="Measure only the prompts that all metrics and models of the run have in common; --limit "
            "applies to these."
        ),
        CommandOption(commands=("eval",)),
    ] = False
    options: Annotated[
        Mapping[str, Mapping[str, Any]],
        Field(
            description="Option of a component (see t2i info NAME). Write KIND:NAME where kinds share the name."
        ),
        CommandOption(
            "NAME.KEY=VALUE",
            name="option",
            short="-o",
            repeated=True,
            commands=(*RUNNING, "prefetch"),
        ),
    ] = field(default_factory=dict)
    out: Annotated[
        Path | None,
        AfterValidator(lambda out: out and expand_path(out)),
        Field(description="The run's folder. Default: one under t2i-runs."),
        CommandOption("DIR"),
    ] = None
    fresh: Annotated[
        bool, Field(description="Make again what would be taken from the cache."), CommandOption()
    ] = False
    device: Annotated[
        str | None,
        AfterValidator(check_device),
        Field(
            description="cpu, cuda, cuda:1 or mps; auto: all GPUs, by executor ray if that is installed. Default: "
            "the best one."
        ),
        CommandOption("D", commands=(*RUNNING, "prefetch")),
    ] = None
    batch_size: Annotated[
        int | None,
        ReadBy(read_batch_size, int | Literal["auto"] | None),
        Field(
            description="How many items at a time to begin with; halved when memory runs out. Default: auto, each "
            "component's own number."
        ),
        CommandOption("N|auto", commands=RUNNING),
    ] = None
    executor: Annotated[
        str | None,
        Field(
            description="Where components run: local (this process) or ray (workers on the GPUs of this machine "
            "or of a cluster). Default: local, or what --device auto chooses."
        ),
        CommandOption("NAME", commands=RUNNING),
    ] = None
    address: Annotated[
        str | None,
        Field(
            description="With --executor ray: address of a running cluster (auto, HOST:PORT or ray://HOST:PORT)."
        ),
        CommandOption("ADDRESS", commands=RUNNING),
    ] = None
    workers: Annotated[
        int | None,
        Field(
            ge=1,
            description="With --executor ray: number of workers of each component. Default: one per GPU, or per "
            "two CPUs without one.",
        ),
        CommandOption("N", commands=RUNNING),
    ] = None
    gpus_per_worker: Annotated[
        float | None,
        Field(
            ge=0,
            description="With --executor ray: GPUs of a worker; 0.5 lets two workers share one. Default: 1 where "
            "there is a GPU.",
        ),
        CommandOption("G", commands=RUNNING),
    ] = None
    max_cost: Annotated[
        float | None,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="Stop before this command spends more US dollars than this on paid components, by the "
            "prices in their options. What is kept costs nothing, and what earlier commands spent does not count.",
        ),
        CommandOption("USD", commands=RUNNING),
    ] = None
    shard: Annotated[
        tuple[int, int] | None,
        ReadBy(read_shard, str | None),
        Field(description="Do only the I-th of N parts of the prompts and seeds; run without it for the scores."),
        CommandOption("I/N"),
    ] = None
    interval: Annotated[
        Question,
        Field(description="What intervals answer: new prompts and seeds, new prompts, or new seeds."),
        CommandOption(commands=("eval",)),
    ] = "new"
    noise: Annotated[
        NoisePolicy,
        Field(description="Starting noise of a seed: the same for all prompts, or drawn for each prompt."),
        CommandOption(),
    ] = "shared"
    offline: Annotated[bool, Field(description="Fetch nothing."), CommandOption(commands=RUNNING)] = False
    max_failed: Annotated[
        float,
        Field(ge=0, le=1, description="Share of failed samples above which the run fails."),
        CommandOption("SHARE"),
    ] = 0.01
