"""`t2i prefetch`: download weights and data in advance, for machines and jobs without network access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption
from t2i_core.api.terminal import write_line
from t2i_core.engine.isolation import IsolatedComponent, fetch_isolated
from t2i_core.engine.lifecycle import fetch_weights
from t2i_core.engine.plan import make_plan
from t2i_core.engine.prompt_selection import load_prompts
from t2i_core.engine.recipe import Recipe
from t2i_core.engine.request import AUTO
from t2i_core.io.prompt_file import is_prompt_file
from t2i_registry import Registry
from t2i_registry.suite import load_suite

from .request import make_request

_RECIPES = (".yaml", ".yml")


def prefetch(names: list[str], suite: str | None, options: list[str] | None, device: str | None) -> None:
    """Download the weights and data of components, recipes, and a suite for models.

    Args:
        names: Components, or recipe files. If there is a suite, the models that it will evaluate.
        suite: The suite, if one is named.
        options: Component options as the command line gives them.
        device: Device of a later run.

    Raises:
        T2IError: A component is not known or cannot be downloaded. Earlier downloads stay.
    """
    registry = Registry()
    device = None if device == AUTO else device  # all of its GPUs load the same files
    if suite is not None:
        components = _plan_components(
            {"models": names}, load_suite(suite, names, registry), options, device, registry
        )
    else:
        components = chain.from_iterable(_find_components(name, options, device, registry) for name in names)
    wanted: dict[tuple[Any, ...], Any] = {}
    for found in components:
        dumped = found.options.model_dump_json()  # options may hold mappings, which cannot be keys
        wanted.setdefault((found.kind, found.info.name, found.argument, dumped), found)
    printed: set[str] = set()
    for note in dict.fromkeys(found.mirror_note for found in wanted.values()):
        if note:
            write_line(note)
    for found in wanted.values():
        line = f"{found.kind.replace('_', ' ')} {found.spec}: {_fetch(found, device)}"
        if line not in printed:  # one model under several settings usually loads the same files
            write_line(line)
        printed.add(line)


def _fetch(found: Any, device: str | None) -> str:
    """Download the files of a component, and return a note on the result."""
    if found.kind == "sink" and found.info.loading.prefetch is None:
        return "needs no download"  # its check may ask a server
    isolated = isinstance(found, IsolatedComponent)
    revisions = fetch_isolated(found) if isolated else fetch_weights(found, device)
    if revisions is not None:
        return ", ".join(["is here", *revisions])
    if found.kind == "prompt_source" and not found.info.reads_labels:
        load_prompts(found, None)  # raises if its files are not valid
    return "needs no download"


def _find_components(
    name: str, options: list[str] | None, device: str | None, registry: Registry
) -> Iterator[Any]:
    """Yield the models, judges and prompt sources of one name, or the models and judges of a recipe's file."""
    if Path(name).suffix in _RECIPES:
        yield from _plan_components({}, Path(name), options, device, registry)
        return
    if is_prompt_file(name):
        raise BadOption(f"{name} is a prompt file and needs no download; name a model, a judge or a recipe")
    table = registry.read_options(options or ())
    loaded = [found for found in registry.find_any(name) if found[0].kind != "metric"]
    if not loaded:
        raise BadOption(f"{name!r} is a metric and needs no download; name a model, a judge or a recipe")
    for entry, argument in loaded:
        yield registry.settle(entry, entry.name if argument is None else f"{entry.name}:{argument}", table)


def _plan_components(
    given: Mapping[str, Any],
    recipe: Path | Recipe,
    options: list[str] | None,
    device: str | None,
    registry: Registry,
) -> Iterator[Any]:
    """Yield the models and judges of a recipe or a suite."""
    request = make_request({**given, "options": options}, recipe, registry)
    # the recipe may be written for another machine, with a GPU and without network access
    wanted = replace(request, device=device, offline=False)
    plan = make_plan(wanted, registry, with_sinks=False, note=partial(write_line, err=True))
    yield from (model.component for model in plan.models)
    for job in plan.jobs:
        yield from (served.choice.judge for served in job.needs if served.choice)
