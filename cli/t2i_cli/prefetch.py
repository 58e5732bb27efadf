"""`t2i prefetch`: fetch weights before they are needed, for machines or jobs without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption
from t2i_core.api.terminal import write_line
from t2i_core.engine.lifecycle import fetch_weights
from t2i_core.engine.plan import make_plan
from t2i_core.engine.prompt_selection import load_prompts
from t2i_core.io.prompt_file import is_prompt_file
from t2i_registry import Registry

from .request import make_request

_RECIPES = (".yaml", ".yml")


def prefetch(names: list[str], options: list[str] | None, device: str | None) -> None:
    """Fetch what parts and recipes load. Raises T2IErrors; what is fetched stays."""
    registry = Registry()
    wanted: dict[tuple[Any, ...], Any] = {}
    for name in names:
        for found in _find_components(name, options, device, registry):
            options_said = found.options.model_dump_json()  # options may hold tables, which cannot be keys
            wanted.setdefault((found.kind, found.info.name, found.argument, options_said), found)
    said: set[str] = set()
    for note in dict.fromkeys(found.mirror_note for found in wanted.values()):
        if note:
            write_line(note)
    for found in wanted.values():
        line = f"{found.kind.replace('_', ' ')} {found.spec}: {_fetch(found, device)}"
        if line not in said:  # of one model under several settings the same is loaded, most often
            write_line(line)
        said.add(line)


def _fetch(found: Any, device: str | None) -> str:
    """Fetch a component, and say what became of it."""
    revisions = fetch_weights(found, device)
    if revisions is not None:
        return ", ".join(["is here", *revisions])
    if found.kind == "prompt_source" and not found.info.reads_labels:
        load_prompts(found, None)  # it says what is wrong with its files
    return "needs nothing from a network"


def _find_components(
    name: str, options: list[str] | None, device: str | None, registry: Registry
) -> Iterator[Any]:
    """Yield the models, judges and prompt sources of a name, or the models and judges of a recipe."""
    if Path(name).suffix in _RECIPES:
        asked = make_request({"options": options}, Path(name), registry)
        # the recipe may be meant for another machine: with a GPU, and without a network
        plan = make_plan(replace(asked, device=device, offline=False), registry)
        yield from (model.component for model in plan.models)
        for job in plan.jobs:
            yield from (served.choice.judge for served in job.needs if served.choice)
        return
    if is_prompt_file(name):
        raise BadOption(f"{name} is a file of prompts: nothing of it could be fetched")
    table = registry.read_options(options or ())
    loaded = [found for found in registry.find_any(name) if found[0].kind != "metric"]
    if not loaded:
        raise BadOption(f"{name!r} is a metric: nothing of it could be fetched")
    for entry, argument in loaded:
        yield registry.settle(entry, entry.name if argument is None else f"{entry.name}:{argument}", table)
