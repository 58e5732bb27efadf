"""Whether all that a recipe names is there and takes its options: said at once, before anything loads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from t2i_core.api.errors import BadRecipe, T2IError, join_clauses
from t2i_core.api.plugin_info import Kind
from t2i_core.io.prompt_file import is_prompt_file
from t2i_registry import Registry

from .recipe import ReadRecipe

Table = dict[str, dict[str, Any]]


def check_parts(read: ReadRecipe, keys: set[str], options: Table, registry: Registry) -> None:
    """Refuse names and options that do not exist.

    keys:     those of the recipe that count, where the command line says nothing else
    options:  as the recipe and the command line give them together

    Raises what is wrong as the command line would say it, with its place in the recipe; BadRecipe where several
    things are.
    """
    found = {str(error): (place, error) for place, error in _problems(read, keys, options, registry)}
    if not found:
        return
    said = join_clauses(f"{place}: {error}" for place, error in found.values())
    kinds = {type(error) for _, error in found.values()}
    raise (kinds.pop() if len(found) == 1 else BadRecipe)(f"{read.name}: {said}")


def _problems(
    read: ReadRecipe, keys: set[str], options: Table, registry: Registry
) -> Iterator[tuple[str, T2IError]]:
    good: Table = {}
    for key, values in options.items():
        try:
            registry.check_names({key: values})
            good[key] = values
        except T2IError as error:
            yield read.place("options", key), error
    for path, kind, spec, table in _named(read, keys, good):
        try:
            registry.component(kind, spec, table)
        except T2IError as error:
            yield read.place(*path), error


def _named(
    read: ReadRecipe, keys: set[str], options: Table
) -> Iterator[tuple[tuple[str | int, ...], Kind, str, Table]]:
    """Yield where each component is named, its kind, its name, and the options that hold for it."""
    recipe = read.recipe
    if "metrics" in keys:
        for number, name in enumerate(recipe.metrics):
            yield ("metrics", number), "metric", name, options
    if "models" in keys:
        for number, entry in enumerate(recipe.models):
            for asked in entry.requests():
                own = f"generator:{str(asked.spec).partition(':')[0].rpartition('/')[2]}"
                table = {**options, own: {**options.get(own, {}), **asked.settings}}
                yield ("models", number), "generator", str(asked.spec), table
    if "judges" in keys:
        for number, name in enumerate(recipe.judges):
            yield ("judges", number), "judge", name.rpartition("=")[2], options
    if "prompts" in keys:
        for number, name in enumerate(recipe.prompts):
            if not is_prompt_file(name):
                yield ("prompts", number), "prompt_source", name, options
