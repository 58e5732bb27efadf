"""Suites: recipes that ship with plugins, and are named instead of written.

A plugin names its own package in the entry-point group `t2i.suites`, under the suite's name:

    [project.entry-points."t2i.suites"]
    standard = "t2i_suites"         # the file t2i_suites/standard.yaml
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import AmbiguousName, BadRecipe, BrokenPlugin, UnknownName
from t2i_core.api.extension import Extension
from t2i_core.engine.recipe import Recipe, parse_recipe
from t2i_core.io.text_file import read_text
from t2i_core.io.yaml_file import MAX_BYTES

from .discovery import SUITES
from .suite_domain import fit_domain

if TYPE_CHECKING:
    from .registry import Registry

ADDED = ("metrics", "default_prompts")
"""Keys of a suite that users add to."""


def has_suite(name: str, registry: Registry) -> bool:
    """Return whether an installed plugin has a suite of this name: `NAME` or `DISTRIBUTION/NAME`."""
    return bool(_list_suites(name, registry))


def describe_suite(name: str, registry: Registry) -> dict[str, Any]:
    """Return what a suite sets, as plain data, with the distribution and the file that it comes from.

    Raises:
        AmbiguousName: Several distributions have the suite.
        BrokenPlugin: Its file cannot be found or is not valid.
    """
    values = load_suite(name, (), registry).values
    plugin = _find_suite(name, registry)
    return {
        "name": plugin.name,
        "kind": "suite",
        "dist": plugin.dist,
        "version": plugin.version,
        "module": plugin.target,
        "file": str(_find_file(plugin)),
        "values": {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()},
    }


def load_suite(name: str, models: Any, registry: Registry) -> Recipe:
    """Return the recipe of a suite, without what is made for images of another domain than the models'.

    Args:
        name: `NAME` or `DISTRIBUTION/NAME`.
        models: The user's models, as the field of the request takes them; may be empty.
        registry: Finds the suites.

    Raises:
        UnknownName: No installed plugin has the suite.
        AmbiguousName: Several have it.
        BrokenPlugin: Its file cannot be found or is not valid.
    """
    plugin = _find_suite(name, registry)
    path = _find_file(plugin)
    try:
        recipe = parse_recipe(read_text(path, BadRecipe, MAX_BYTES), f"suite {name}")
    except BadRecipe as error:
        raise BrokenPlugin(f"plugin {plugin.origin}: {error}") from error
    return replace(recipe, values=fit_domain(recipe.values, models, registry), added=ADDED)


def _find_suite(name: str, registry: Registry) -> Extension:
    found = _list_suites(name, registry)
    if not found:
        offered = registry.list_extensions(SUITES)
        missing = registry.find_missing_dist(name.rpartition("/")[2])
        known = ", ".join(each.name for each in offered)
        hint = f"install {missing}" if missing else f"installed are {known}" if known else "none is installed"
        raise UnknownName.among("suite", name, [each.name for each in offered], hint)
    if len(found) > 1:
        ways = " or ".join(f"{each.dist}/{each.name}" for each in found)
        raise AmbiguousName(f"suite {name!r} is offered by several distributions; write {ways}")
    return found[0]


def _list_suites(name: str, registry: Registry) -> list[Extension]:
    dist, _, own_name = name.rpartition("/")
    offered = registry.list_extensions(SUITES)
    return [each for each in offered if each.name == own_name and dist in ("", each.dist)]


def _find_file(plugin: Extension) -> Path:
    """Return the file of a suite, without importing the package that has it."""
    package, *below = plugin.target.split(".")
    try:
        spec = find_spec(package)
    except (ImportError, ValueError) as error:  # a module that is half imported has no spec
        raise BrokenPlugin(f"plugin {plugin.origin}: suite {plugin.name!r}: {error}") from error
    for folder in [] if spec is None else spec.submodule_search_locations or ():
        path = Path(folder, *below) / f"{plugin.name}.yaml"
        if path.is_file():
            return path
    raise BrokenPlugin(f"plugin {plugin.origin}: the package {plugin.target} has no file {plugin.name}.yaml")
