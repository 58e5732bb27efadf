"""Recipes: the options of an evaluation in a YAML file.

    metrics: [tiam]
    models:
      - simulator                          # a spec, as --model takes it
      - model: simulator                   # or a spec with a label and settings of its own
        label: forgetful
        settings: {drop: 0.2}
      - model: [sd14, sd2]                 # or a matrix: each of these models under each of these settings
        matrix: {guidance: [1, 7.5], steps: [25, 50]}
    prompts: [tiam-5-2]
    judges: [segment=mini-segmenter]
    seeds: 0-15                            # a number, a list or a range
    options:
      tiam: {confidence: 0.4}

The other keys are those of the command line: limit, out, fresh, device, batch_size, shard, interval, noise,
max_failed, offline. Lists may be written as one value. Paths are read from where the command runs, as they are on
the command line, which overrides a recipe key by key (and `options` one by one).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from t2i_core.api.errors import BadOption, BadRecipe, did_you_mean, join_clauses
from t2i_core.engine.request import ModelRequest, parse_seeds, parse_shard
from t2i_core.io.text_file import read_text
from t2i_core.io.yaml_file import MAX_BYTES, BadYAML, BoundedLoader, load_yaml

from .asking import read_batch_size

T = TypeVar("T")


def _listed(value: Any) -> Any:
    """Take one value for a list of one."""
    return value if isinstance(value, list) else [value]


def _as_model(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


def _seeds_text(value: Any) -> Any:
    """A number means so many seeds, a list means these."""
    if isinstance(value, list) and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        return ",".join(f"{seed}-{seed}" for seed in value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read_by(reader: Callable[[str], object]) -> AfterValidator:
    """Have a reader of the command line's texts say what is wrong with one, and keep the text."""

    def readable(text: T) -> T:
        try:
            reader(str(text))
        except BadOption as error:
            raise ValueError(str(error)) from error
        return text

    return AfterValidator(readable)


# What a field takes beside its own type stands in `json_schema_input_type`, for the published schema.
Names = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
Seeds = Annotated[
    str, BeforeValidator(_seeds_text, json_schema_input_type=int | str | list[int]), _read_by(parse_seeds)
]


MAX_MODELS = 10_000
"""Models that one entry of a recipe may stand for."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RecipeModel(_Strict):
    """One entry of `models`."""

    model: Names = Field(
        min_length=1,
        description="Generator, as --model takes it; or several.",
        validation_alias=AliasChoices("model", "spec"),
    )
    label: str | None = Field(None, description="What results call it. Default: the model with its settings.")
    settings: dict[str, Any] = Field({}, description="Options of the generator for this entry alone.")
    matrix: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        {}, description="Options with several values each: the entry stands for every combination."
    )

    @model_validator(mode="after")
    def _once(self) -> Self:
        if both := self.settings.keys() & self.matrix.keys():
            raise ValueError(f"{', '.join(sorted(both))}: stands in settings and in matrix")
        count = len(self.model) * prod(map(len, self.matrix.values()))
        if count > MAX_MODELS:
            raise ValueError(f"matrix stands for {count} models; split it into recipes of at most {MAX_MODELS}")
        return self

    def requests(self) -> Iterator[ModelRequest]:
        """Every model and setting that the entry stands for; a label of several begins each one's own."""
        several = len(self.model) > 1 or any(len(values) > 1 for values in self.matrix.values())
        for spec, values in product(self.model, product(*self.matrix.values())):
            varied = dict(zip(self.matrix, values, strict=True))
            parts = [
                self.label,
                *([spec] if len(self.model) > 1 else []),
                *(f"{k}={v}" for k, v in varied.items()),
            ]
            label = " ".join(map(str, parts)) if self.label and several else self.label
            yield ModelRequest(spec, label, {**self.settings, **varied})


class Recipe(_Strict):
    """A recipe: what `t2i eval --recipe FILE` reads."""

    metrics: Names = Field([], description="Metrics.")
    models: Annotated[
        list[Annotated[RecipeModel, BeforeValidator(_as_model, json_schema_input_type=str | RecipeModel)]],
        BeforeValidator(_listed, json_schema_input_type=str | RecipeModel | list[str | RecipeModel]),
    ] = Field([], description="Models, each a name or an entry with model, label, settings and matrix.")
    prompts: Names = Field([], description="Prompt sources or files.")
    judges: Names = Field([], description="Judges, NAME or CAPABILITY=NAME.")
    seeds: Seeds | None = Field(None, description="Number of seeds, a list or a range.")
    limit: int | None = Field(None, ge=1, description="At most so many prompts.")
    options: dict[str, dict[str, Any]] = Field({}, description="Options by component.")
    out: Path | None = Field(None, description="The run's folder.")
    fresh: bool = Field(False, description="Make again what would be taken from the cache.")
    device: str | None = Field(None, description="cpu, cuda, cuda:1, mps.")
    batch_size: Annotated[int | Literal["auto"], _read_by(read_batch_size)] = Field(
        "auto", description="How many at a time; halved where memory runs out."
    )
    shard: Annotated[str, _read_by(parse_shard)] | None = Field(None, description="I/N: only the I-th of N parts.")
    interval: Literal["new", "prompts", "seeds"] = Field("new", description="What intervals answer.")
    noise: Literal["shared", "per-prompt"] = Field("shared", description="Starting noise.")
    max_failed: float = Field(0.01, ge=0, le=1, description="Share of failed samples above which the run fails.")
    offline: bool = Field(False, description="Fetch nothing.")

    def asked(self) -> dict[str, Any]:
        """Return what the recipe says, as core's Request takes it."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("metrics", "prompts", "judges"):
            if name in said:
                said[name] = tuple(said[name])
        if "models" in said:
            said["models"] = tuple(each for m in self.models for each in m.requests())
        if self.seeds is not None:
            said["seeds"] = parse_seeds(self.seeds)
        if self.shard is not None:
            said["shard"] = parse_shard(self.shard)
        if "batch_size" in said:
            said["batch_size"] = read_batch_size(self.batch_size)
        return said


@dataclass(frozen=True)
class ReadRecipe:
    """A recipe with where it comes from.

    name:   what messages call it
    lines:  the line of each key and list item, by its path
    """

    name: str
    recipe: Recipe
    lines: dict[tuple[str | int, ...], int]

    def place(self, *path: str | int) -> str:
        """Name a place for a reader: `line 7, models.1.settings`."""
        return _place(path, self.lines)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return what a recipe says, as core's Request takes it. Raises BadRecipe, all that is wrong in one line."""
    return load_recipe(path).recipe.asked()


def load_recipe(path: Path) -> ReadRecipe:
    """Read a recipe. Raises BadRecipe, all that is wrong in one line."""
    try:
        text = read_text(path, BadRecipe, MAX_BYTES)
    except BadRecipe as error:
        raise BadRecipe(f"recipe {error}") from error
    return parse_recipe(text, f"recipe {path}")


def parse_recipe(text: str, name: str) -> ReadRecipe:
    """Read a recipe's text; `name` begins every message. Raises BadRecipe, all that is wrong in one line."""
    try:
        data = load_yaml(text, _Loader)
        node = yaml.compose(text, Loader=_Loader)
    except _Twice as error:
        raise BadRecipe(f"{name}, line {error.line}: key {error.key!r} stands twice") from error
    except BadYAML as error:
        raise BadRecipe(f"{name}: {error}") from error
    if not isinstance(data, dict):
        what = "it is empty" if data is None else f"it is a {type(data).__name__}"
        raise BadRecipe(f"{name}: want keys such as metrics and models, and {what}")
    lines = dict(_lines(node))
    try:
        return ReadRecipe(name, Recipe.model_validate(data), lines)
    except ValidationError as error:
        raise BadRecipe(f"{name}: {join_clauses(dict.fromkeys(_problems(error, lines)))}") from error


def _lines(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Yield the line of each key and item beneath a node of YAML."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, str(key.value)), key.start_mark.line + 1
            yield from _lines(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*path, number), item.start_mark.line + 1
            yield from _lines(item, (*path, number))


def _place(path: Sequence[str | int], lines: dict[tuple[str | int, ...], int]) -> str:
    """Name a place with the line of the nearest key that is written above it."""
    above = (lines.get(tuple(path[:length])) for length in range(len(path), 0, -1))
    line = next((found for found in above if found), None)
    name = ".".join(map(str, path))
    return name if line is None else f"line {line}, {name}"


def _problems(error: ValidationError, lines: dict[tuple[str | int, ...], int]) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        *parents, last = problem["loc"]
        place = _place(problem["loc"], lines)
        if problem["type"] == "extra_forbidden":
            known = (RecipeModel if parents else Recipe).model_fields
            hint = did_you_mean(str(last), known) or f"; known are {', '.join(known)}"
            yield f"{place}: unknown key {str(last)!r}{hint}"
        elif problem["type"] == "missing":
            yield f"{place}: is required"
        elif problem["type"] == "value_error":
            yield f"{place}: {problem['msg'].removeprefix('Value error, ')}"
        else:
            message = problem["msg"][:1].lower() + problem["msg"][1:]
            yield f"{place}: {problem['input']!r} is not valid: {message}"


class _Twice(Exception):
    """A key that stands twice in one mapping, on the second of these lines."""

    def __init__(self, key: Hashable, line: int) -> None:
        super().__init__(key, line)
        self.key, self.line = key, line


class _Loader(BoundedLoader):
    """Refuses a key that stands twice, where YAML would take the last and say nothing."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise _Twice(key, key_node.start_mark.line + 1)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)
