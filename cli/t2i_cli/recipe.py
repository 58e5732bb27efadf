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

The keys are the fields of core's `Request`. A list of one may be written as its value. Paths are relative to the
working directory, as on the command line, which overrides a recipe key by key (and `options` one by one).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError
from t2i_core.api.errors import BadRecipe, join_clauses
from t2i_core.engine.request import Request
from t2i_core.engine.request_field import Place, describe_problems
from t2i_core.io.text_file import read_text
from t2i_core.io.yaml_file import MAX_BYTES, BadYAML, BoundedLoader, load_yaml


@dataclass(frozen=True)
class Recipe:
    """A recipe and its place in a file.

    Attributes:
        name: Name for messages.
        values: Values of the request's fields that the recipe gives, validated.
        lines: Line of each key and list item, by its path.
    """

    name: str
    values: dict[str, Any]
    lines: dict[Place, int]

    def place(self, *path: str | int) -> str:
        """Name a place for a reader (`line 7, models.1.settings`) by the nearest line known above it."""
        above = (self.lines.get(path[:length]) for length in range(len(path), 0, -1))
        line = next((found for found in above if found), None)
        name = ".".join(map(str, path))
        return name if line is None else f"line {line}, {name}"


def load_recipe(path: Path) -> Recipe:
    """Read a recipe. Raises BadRecipe, all that is wrong in one line."""
    try:
        text = read_text(path, BadRecipe, MAX_BYTES)
    except BadRecipe as error:
        raise BadRecipe(f"recipe {error}") from error
    return parse_recipe(text, f"recipe {path}")


def parse_recipe(text: str, name: str) -> Recipe:
    """Read a recipe's text; `name` begins every message. Raises BadRecipe, all that is wrong in one line."""
    try:
        data = load_yaml(text, _Loader)
        node = yaml.compose(text, Loader=_Loader)
    except _DuplicateKey as error:
        raise BadRecipe(f"{name}, line {error.line}: key {error.key!r} stands twice") from error
    except BadYAML as error:
        raise BadRecipe(f"{name}: {error}") from error
    if not isinstance(data, dict):
        what = "it is empty" if data is None else f"it is a {type(data).__name__}"
        raise BadRecipe(f"{name}: want keys such as metrics and models, and {what}")
    recipe = Recipe(name, {}, dict(_find_lines(node)))
    try:
        request = TypeAdapter(Request).validate_python(data)
    except ValidationError as error:
        problems = (f"{recipe.place(*path)}: {text}" for path, text in describe_problems(error, Request, "key"))
        raise BadRecipe(f"{name}: {join_clauses(dict.fromkeys(problems))}") from error
    return replace(recipe, values={key: getattr(request, key) for key in data})


def make_schema() -> dict[str, Any]:
    """Return the JSON schema of what a recipe may say."""
    return TypeAdapter(Request).json_schema()


def _find_lines(node: Any, path: Place = ()) -> Iterator[tuple[Place, int]]:
    """Yield the line of each key and item beneath a node of YAML."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, str(key.value)), key.start_mark.line + 1
            yield from _find_lines(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*path, number), item.start_mark.line + 1
            yield from _find_lines(item, (*path, number))


class _DuplicateKey(Exception):
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
                raise _DuplicateKey(key, key_node.start_mark.line + 1)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)
