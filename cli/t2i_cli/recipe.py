"""Recipes: the options of an evaluation in a YAML file.

    metrics: [tiam]
    models:
      - simulator                          # a spec, as --model takes it
      - model: simulator                   # or a spec with a label and settings of its own
        label: forgetful
        settings: {drop: 0.2}
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

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from t2i_core.errors import BadOption, BadRecipe, did_you_mean, in_one_line
from t2i_core.evaluation import ModelRequest, parse_seeds, parse_shard

from .asking import read_batch_size


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


Names = Annotated[list[str], BeforeValidator(_listed)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RecipeModel(_Strict):
    """One entry of `models`."""

    model: str = Field(
        description="Generator, as --model takes it.", validation_alias=AliasChoices("model", "spec")
    )
    label: str | None = Field(None, description="What results call it. Default: the model with its settings.")
    settings: dict[str, Any] = Field({}, description="Options of the generator for this entry alone.")


class Recipe(_Strict):
    """A recipe: what `t2i eval --recipe FILE` reads."""

    metrics: Names = Field([], description="Metrics.")
    models: Annotated[list[Annotated[RecipeModel, BeforeValidator(_as_model)]], BeforeValidator(_listed)] = Field(
        [], description="Models, each a name or an entry with model, label and settings."
    )
    prompts: Names = Field([], description="Prompt sources or files.")
    judges: Names = Field([], description="Judges, NAME or CAPABILITY=NAME.")
    seeds: Annotated[str, BeforeValidator(_seeds_text)] | None = Field(
        None, description="Number of seeds, a list or a range."
    )
    limit: int | None = Field(None, ge=1, description="At most so many prompts.")
    options: dict[str, dict[str, Any]] = Field({}, description="Options by component.")
    out: Path | None = Field(None, description="The run's folder.")
    fresh: bool = Field(False, description="Make again what would be taken from the cache.")
    device: str | None = Field(None, description="cpu, cuda, cuda:1, mps.")
    batch_size: int | Literal["auto"] = Field(
        "auto", description="How many at a time; halved where memory runs out."
    )
    shard: str | None = Field(None, description="I/N: only the I-th of N parts.")
    interval: Literal["new", "prompts", "seeds"] = Field("new", description="What intervals answer.")
    noise: Literal["shared", "per-prompt"] = Field("shared", description="Starting noise.")
    max_failed: float = Field(0.01, ge=0, le=1, description="Share of failed samples above which the run fails.")
    offline: bool = Field(False, description="Fetch nothing.")

    def asked(self) -> dict[str, Any]:
        """Return what the recipe says, as core's Request takes it. Raises BadOption."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("metrics", "prompts", "judges"):
            if name in said:
                said[name] = tuple(said[name])
        if "models" in said:
            said["models"] = tuple(ModelRequest(m.model, m.label, m.settings) for m in self.models)
        if self.seeds is not None:
            said["seeds"] = parse_seeds(self.seeds)
        if self.shard is not None:
            said["shard"] = parse_shard(self.shard)
        if "batch_size" in said:
            said["batch_size"] = read_batch_size(self.batch_size)
        return said


def read_recipe(path: Path) -> dict[str, Any]:
    """Return what a recipe says, as core's Request takes it. Raises BadRecipe, all that is wrong in one line."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadRecipe(f"recipe {path}: cannot be read: {cause}") from error
    except _Twice as error:
        raise BadRecipe(f"recipe {path}, line {error.line}: key {error.key!r} stands twice") from error
    except yaml.YAMLError as error:
        raise BadRecipe(f"recipe {path}: is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        what = "it is empty" if data is None else f"it is a {type(data).__name__}"
        raise BadRecipe(f"recipe {path}: want keys such as metrics and models, and {what}")
    try:
        return Recipe.model_validate(data).asked()
    except ValidationError as error:
        raise BadRecipe(f"recipe {path}: {in_one_line(dict.fromkeys(_problems(error)))}") from error
    except BadOption as error:
        raise BadRecipe(f"recipe {path}: {error}") from error


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        *parents, last = problem["loc"]
        place = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = (RecipeModel if parents else Recipe).model_fields
            hint = did_you_mean(str(last), known) or f"; known are {', '.join(known)}"
            yield f"unknown key {place!r}{hint}"
        elif problem["type"] == "missing":
            yield f"{place}: is required"
        else:
            message = problem["msg"][:1].lower() + problem["msg"][1:]
            yield f"{place}: {problem['input']!r} is not valid: {message}"


class _Twice(Exception):
    """A key that stands twice in one mapping, on the second of these lines."""

    def __init__(self, key: Hashable, line: int) -> None:
        super().__init__(key, line)
        self.key, self.line = key, line


class _Loader(yaml.SafeLoader):
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
