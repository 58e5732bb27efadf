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

The keys are the fields of `Request`. A list with one value may be written as the value. Paths are relative
to the working directory. The command line overrides a recipe key by key, and `options` option by option.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..api.errors import BadRecipe, join_clauses
from ..io.text_file import read_text
from ..io.yaml_file import MAX_BYTES, BadYAML
from ..io.yaml_lines import DuplicateKey, LocatedYAML, load_located_yaml
from .request import Request
from .request_field import describe_problems


@dataclass(frozen=True)
class Recipe:
    """A recipe with its line numbers.

    Attributes:
        name: Name for messages.
        values: Validated values of the request's fields that the recipe sets.
        source: The YAML data, with the line number of each key and list item.
        added: Keys whose values a user adds to instead of overriding them, as those of a suite.
    """

    name: str
    values: dict[str, Any]
    source: LocatedYAML = field(default_factory=lambda: LocatedYAML({}))
    added: tuple[str, ...] = ()

    def place(self, *path: str | int) -> str:
        """Return the text for a place, `line 7, models.1.settings`, with the nearest known line at or above it."""
        return self.source.describe_place(path)


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
        source = load_located_yaml(text)
    except DuplicateKey as error:
        raise BadRecipe(f"{name}, {error}") from error
    except BadYAML as error:
        raise BadRecipe(f"{name}: {error}") from error
    data = source.data
    if not isinstance(data, dict):
        found = "an empty file" if data is None else type(data).__name__
        raise BadRecipe(f"{name}: must have keys such as metrics and models (got {found})")
    recipe = Recipe(name, {}, source)
    try:
        request = TypeAdapter(Request).validate_python(data)
    except ValidationError as error:
        problems = (f"{recipe.place(*path)}: {text}" for path, text in describe_problems(error, Request, "key"))
        raise BadRecipe(f"{name}: {join_clauses(dict.fromkeys(problems))}") from error
    return replace(recipe, values={key: getattr(request, key) for key in data})
