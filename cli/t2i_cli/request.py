"""The request that a command line and a recipe make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.engine.recipe import Recipe, load_recipe
from t2i_core.engine.request import Request
from t2i_registry.discovery import KINDS
from t2i_registry.options import Address, override

from .component_names import correct_case, refuse_folders
from .recipe_check import check_components

if TYPE_CHECKING:
    from t2i_registry import Registry

NO_RECIPE = Recipe("", {})


def make_request(
    given: Mapping[str, Any], recipe: Path | Recipe | None, registry: Registry, measures: bool = True
) -> Request:
    """Return the request of a recipe and the command line, which overrides the recipe; merge component options.

    Args:
        given: Values of the command line by the request's fields; None or an empty list if nothing is given.
        recipe: The recipe or its file.
        registry: Finds components.
        measures: Whether the command measures anything; if not, metrics and judges of the recipe are left out.

    Raises:
        BadRecipe: The recipe is not valid.
        BadOption: A value of the command line is not valid.
        T2IError: A component of the recipe is unknown, ambiguous or broken, or a model is a folder.
    """
    read = load_recipe(recipe) if isinstance(recipe, Path) else recipe or NO_RECIPE
    read = replace(read, values=correct_case(read.values, registry))
    if not measures:
        read = replace(read, values=read.values | _keep_images(read.values, registry))
    given = {name: value for name, value in given.items() if value not in (None, [], ())}
    if "options" in given:
        given["options"] = registry.read_options(given["options"])
    values = override(read.values, given, read.added)
    own = {
        key for key, value in read.values.items() if value and key not in given.keys() - {"options", *read.added}
    }
    request = Request(**values)
    request = replace(request, **correct_case({key: getattr(request, key) for key in values}, registry))
    refuse_folders(request, registry)
    check_components(read, own, request.options, registry, skips=bool(request.skip_unavailable))
    return request


def _keep_images(values: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Return the metrics, judges and options of a recipe for a command that only generates images."""

    def is_measured(key: str) -> bool:
        address = Address.parse(key)
        kinds = {k for k in KINDS if registry.catalogue.find_entries(k, address.name, address.dist)}
        if address.kind:
            kinds &= {address.kind}
        return bool(kinds) and kinds <= {"metric", "judge"}

    options = {key: table for key, table in values.get("options", {}).items() if not is_measured(key)}
    return {"metrics": (), "judges": (), "until": None, "margin": None, "max_images": None, "options": options}
