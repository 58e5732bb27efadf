"""`t2i prefetch`: fetch weights before they are needed, for machines or jobs without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from t2i_core.errors import BadOption
from t2i_core.evaluation import fetch, make_plan
from t2i_registry import Registry

from .asking import Asked, request

_RECIPES = (".yaml", ".yml")


def prefetch(names: list[str], options: list[str] | None, device: str | None) -> None:
    """Fetch what parts and recipes load. Raises T2IErrors; what is fetched stays."""
    registry = Registry()
    wanted: dict[tuple[Any, ...], Any] = {}
    for name in names:
        for found in _components(name, options, device, registry):
            options_said = found.options.model_dump_json()  # options may hold tables, which cannot be keys
            wanted.setdefault((found.kind, found.info.name, found.argument, options_said), found)
    for found in wanted.values():
        revisions = fetch(found, device)
        said = "needs nothing from a network" if revisions is None else ", ".join(["is here", *revisions])
        typer.echo(f"{found.kind} {found.spec}: {said}")


def _components(name: str, options: list[str] | None, device: str | None, registry: Registry) -> Iterator[Any]:
    """Models, judges and prompt sources that a name means; models and judges that a recipe takes."""
    if Path(name).suffix in _RECIPES:
        plan = make_plan(request(Asked(options=options, device=device), Path(name), registry), registry)
        for job in plan.jobs:
            yield from (model.component for model in job.models)
            yield from (served.choice.judge for served in job.needs if served.choice)
        return
    table = registry.read_options(options or ())
    loaded = [found for found in registry.find_any(name) if found[0].kind != "metric"]
    if not loaded:
        raise BadOption(f"{name!r} is a metric: nothing of it could be fetched")
    for entry, argument in loaded:
        yield registry.settle(entry, entry.name if argument is None else f"{entry.name}:{argument}", table)
