"""From the command line and a recipe to core's request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2i_core.api.errors import BadOption

if TYPE_CHECKING:
    from t2i_core.engine.request import Request
    from t2i_registry import Registry

    from .recipe import ReadRecipe


@dataclass(frozen=True)
class Asked:
    """What the command line says, as text; None or empty: nothing said. The names are those of core's Request."""

    metrics: list[str] | None = None
    models: list[str] | None = None
    prompts: list[str] | None = None
    judges: list[str] | None = None
    seeds: str | None = None
    limit: int | None = None
    options: list[str] | None = None
    out: Path | None = None
    fresh: bool | None = None
    device: str | None = None
    batch_size: str | None = None
    shard: str | None = None
    interval: str | None = None
    noise: str | None = None
    max_failed: float | None = None
    offline: bool | None = None


def request(asked: Asked, recipe: Path | None, registry: Registry, measures: bool = True) -> Request:
    """Settle what is asked for: the recipe, overridden by the command line; options are merged one by one.

    Where nothing is measured, what a recipe says of metrics and judges is left out. Raises BadRecipe or BadOption,
    or what is wrong with a name.
    """
    from .recipe import load_recipe

    return settled(asked, None if recipe is None else load_recipe(recipe), registry, measures)


def settled(asked: Asked, read: ReadRecipe | None, registry: Registry, measures: bool = True) -> Request:
    """The same with a recipe that is read already."""
    from t2i_core.engine.request import Request
    from t2i_registry.options import merged

    from .recipe_parts import check_parts

    known: dict[str, Any] = {"metrics": (), "models": ()}
    if read is not None:
        known |= read.recipe.asked()
        if not measures:
            known |= _of_images_alone(known, registry)
    said = dict(_said(asked))
    if asked.options:
        table = registry.read_options(asked.options)
        below = known.get("options", {})
        said["options"] = below | {name: merged(below.get(name, {}), values) for name, values in table.items()}
    whole = known | said
    if read is not None:
        own = {key for key, value in known.items() if value and (key == "options" or key not in said)}
        check_parts(read, own, whole.get("options", {}), registry)
    return Request(**whole)


def _of_images_alone(known: dict[str, Any], registry: Registry) -> dict[str, Any]:
    """What a recipe leaves of metrics, judges and options where only images are made."""
    from t2i_registry.discovery import KINDS
    from t2i_registry.options import Address

    def measures(key: str) -> bool:
        address = Address.parse(key)
        kinds = {k for k in KINDS if registry.catalogue.named(k, address.name, address.dist)}
        if address.kind:
            kinds &= {address.kind}
        return bool(kinds) and kinds <= {"metric", "judge"}

    options = {key: values for key, values in known.get("options", {}).items() if not measures(key)}
    return {"metrics": (), "judges": (), "options": options}


def read_batch_size(value: str | int) -> int | None:
    """Read `N` or `auto`. Raises BadOption."""
    text = str(value).strip()
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadOption(f"--batch-size {text!r}: want a number from 1, or auto")
    return int(text)


def _said(asked: Asked) -> Iterator[tuple[str, Any]]:
    """What the command line says, as the request takes it; options are left to be merged."""
    from t2i_core.engine.request import ModelRequest, parse_seeds, parse_shard

    readers: dict[str, Any] = {
        "models": lambda specs: tuple(ModelRequest(spec) for spec in specs),
        "seeds": parse_seeds,
        "batch_size": read_batch_size,
        "shard": parse_shard,
    }
    for field in fields(asked):
        value = getattr(asked, field.name)
        if field.name == "options" or value is None or value == []:
            continue
        if field.name in readers:
            yield field.name, readers[field.name](value)
        else:
            yield field.name, tuple(value) if isinstance(value, list) else value
