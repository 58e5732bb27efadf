"""Check of a recipe's components and their options, before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from t2i_core.api.errors import BadRecipe, T2IError, join_clauses
from t2i_core.api.plugin_info import Kind
from t2i_core.api.resolver import OptionTable, split_judge
from t2i_core.engine.recipe import Recipe
from t2i_core.engine.request_field import Place
from t2i_core.engine.unavailable_metrics import CAUSES
from t2i_core.io.prompt_file import is_prompt_file
from t2i_registry import Registry


def check_components(
    recipe: Recipe, keys: Set[str], options: OptionTable, registry: Registry, skips: bool = False
) -> None:
    """Check that the components and options of a recipe exist.

    Args:
        recipe: The recipe.
        keys: Keys of the recipe that the command line does not override.
        options: Component options of the recipe and the command line together.
        registry: Finds components.
        skips: Whether metrics may be left out that cannot run here; the plan then says which.

    Raises:
        T2IError: The only problem, with its place in the recipe.
        BadRecipe: There are several problems; the message lists them.
    """
    if not recipe.values:
        return
    found = {str(error): (place, error) for place, error in _find_problems(recipe, keys, options, registry, skips)}
    if not found:
        return
    problems = join_clauses(f"{place}: {error}" for place, error in found.values())
    kinds = {type(error) for _, error in found.values()}
    raise (kinds.pop() if len(found) == 1 else BadRecipe)(f"{recipe.name}: {problems}")


def _find_problems(
    recipe: Recipe, keys: Set[str], options: OptionTable, registry: Registry, skips: bool
) -> Iterator[tuple[str, T2IError]]:
    good: dict[str, Mapping[str, Any]] = {}
    for key, values in options.items():
        try:
            registry.check_names({key: values})
            good[key] = values
        except T2IError as error:
            yield recipe.place("options", key), error
    for path, kind, spec, table in _list_components(recipe.values, keys, good):
        try:
            if not registry.has_environment(kind, spec, table):
                registry.component(kind, spec, table)
        except T2IError as error:
            if not (skips and kind in ("metric", "judge") and isinstance(error, CAUSES)):
                yield recipe.place(*path), error


def _list_components(
    values: dict[str, Any], keys: Set[str], options: OptionTable
) -> Iterator[tuple[Place, Kind, str, OptionTable]]:
    """Yield the place, kind and name of each component in a recipe, with the options that apply to it."""
    named: dict[str, Any] = {key: values.get(key, ()) if key in keys else () for key in values}
    for number, name in enumerate(named.get("metrics", ())):
        yield ("metrics", number), "metric", name, options
    for number, entry in enumerate(named.get("models", ())):
        for model in entry.expand():
            own = f"generator:{str(model.spec).partition(':')[0].rpartition('/')[2]}"
            table = {**options, own: {**options.get(own, {}), **model.settings}}
            yield ("models", number), "generator", str(model.spec), table
    for number, name in enumerate(named.get("judges", ())):
        yield ("judges", number), "judge", split_judge(name)[1], options
    for number, name in enumerate(named.get("prompts", ())):
        if not is_prompt_file(name):
            yield ("prompts", number), "prompt_source", name, options
    for number, name in enumerate(named.get("sinks", ())):
        yield ("sinks", number), "sink", name, options
