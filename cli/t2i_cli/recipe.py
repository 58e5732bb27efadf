"""Recipes: YAML files with the options of an evaluation.

    metrics: [tiam]
    models:
      - simulator                          # a spec, as --model takes it
      - model: simulator                   # or a spec with its own label and settings
        label: forgetful
        settings: {drop: 0.2}
      - model: [sd14, sd2]                 # or a matrix: each of these models with each of these settings
        matrix: {guidance: [1, 7.5], steps: [25, 50]}
    prompts: [tiam-5-2]
    judges: [segment=mini-segmenter]
    seeds: 0-15                            # a number, a list or a range
    options:
      tiam: {confidence: 0.4}

The keys are the fields of core's `Request`. A list with one value may be written as the value. Paths are relative
to the working directory. The command line overrides a recipe key by key, and `options` option by option.
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
    """A recipe with its line numbers.

    Attributes:
        name: Name for messages.
        values: Validated values of the request's fields that the recipe sets.
        lines: Line number of each key and list item, by its path.
    """

    name: str
    values: dict[str, Any]
    lines: dict[Place, int]

    def place(self, *path: str | int) -> str:
        """Return the text for a place, `line 7, models.1.settings`, with the nearest known line at or above it."""
        above = (self.lines.get(path[:length]) for length in range(len(path), 0, -1))
        line = next((found for found in above if found), None)
        name = ".".join(map(str, path))
        return name if line is None else f"line {line}, {name}"


def load_recipe(path: Path) -> Recipe:
    """Read a recipe from a file.

    Raises:
        BadRecipe: The recipe cannot be read or is not valid; the message lists all problems in one line.
    """
    try:
        text = read_text(path, BadRecipe, MAX_BYTES)
    except BadRecipe as error:
        raise BadRecipe(f"recipe {error}") from error
    return parse_recipe(text, f"recipe {path}")


def parse_recipe(text: str, name: str) -> Recipe:
    """Read a recipe from its text.

    Args:
        text: YAML.
        name: Start of every message.

    Raises:
        BadRecipe: The recipe is not valid; the message lists all problems in one line.
    """
    try:
        data = load_yaml(text, _Loader)
        node = yaml.compose(text, Loader=_Loader)
    except _DuplicateKey as error:
        raise BadRecipe(f"{name}, line {error.line}: duplicate key {error.key!r}; keep one of them") from error
    except BadYAML as error:
        raise BadRecipe(f"{name}: {error}") from error
    if not isinstance(data, dict):
        found = "an empty file" if data is None else type(data).__name__
        raise BadRecipe(f"{name}: must have keys such as metrics and models (got {found})")
    recipe = Recipe(name, {}, dict(_find_lines(node)))
    try:
        request = TypeAdapter(Request).validate_python(data)
    except ValidationError as error:
        problems = (f"{recipe.place(*path)}: {text}" for path, text in describe_problems(error, Request, "key"))
        raise BadRecipe(f"{name}: {join_clauses(dict.fromkeys(problems))}") from error
    return replace(recipe, values={key: getattr(request, key) for key in data})


def make_schema() -> dict[str, Any]:
    """Return the JSON schema of recipes."""
    return TypeAdapter(Request).json_schema()


def _find_lines(node: Any, path: Place = ()) -> Iterator[tuple[Place, int]]:
    """Yield the path and line number of each key and item below a YAML node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, str(key.value)), key.start_mark.line + 1
            yield from _find_lines(value, (*path, str(key.value)))
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield (*path, number), item.start_mark.line + 1
            yield from _find_lines(item, (*path, number))


class _DuplicateKey(Exception):
    """A duplicate key in a mapping, with the line of its second occurrence."""

    def __init__(self, key: Hashable, line: int) -> None:
        super().__init__(key, line)
        self.key, self.line = key, line


class _Loader(BoundedLoader):
    """YAML loader that raises _DuplicateKey; YAML would silently use the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise _DuplicateKey(key, key_node.start_mark.line + 1)
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)
