"""Component names of a request as users write them: in any case, or a folder in place of a generator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from t2i_core.api.errors import UnknownName
from t2i_core.api.plugin_info import Kind
from t2i_core.api.resolver import split_judge
from t2i_core.engine.request import ModelRequest, Request
from t2i_core.engine.request_values import list_values
from t2i_core.files.home_folder import expand_home
from t2i_core.io.prompt_file import is_prompt_file
from t2i_registry import Registry
from t2i_registry.component_lookup import Spec
from t2i_registry.discovery import KINDS
from t2i_registry.options import find_kind, merge_options

_KIND_OF: dict[str, Kind] = {"metrics": "metric", "prompts": "prompt_source", "sinks": "sink"}


def correct_case(values: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """Return values of the request's fields, with component names in the case in which they are registered."""
    found = dict(values)
    for key, kind in _KIND_OF.items():
        if key in found:
            found[key] = tuple(
                name if key == "prompts" and is_prompt_file(name) else registry.correct_case(name, kind)
                for name in found[key]
            )
    if "models" in found:
        found["models"] = tuple(_correct_model(model, registry) for model in found["models"])
    if "judges" in found:
        found["judges"] = tuple(_correct_judge(word, registry) for word in found["judges"])
    if "options" in found:
        table: dict[str, Any] = {}
        for key, options in found["options"].items():
            name = _correct_address(key, registry)
            table[name] = merge_options(table.get(name, {}), options)
        found["options"] = table
    return found


def _correct_model(model: ModelRequest, registry: Registry) -> ModelRequest:
    specs = [registry.correct_case(str(spec), "generator") for spec in list_values(model.spec)]
    return replace(model, spec=specs[0] if isinstance(model.spec, str) else tuple(specs))


def _correct_judge(word: str, registry: Registry) -> str:
    capability, name = split_judge(word)
    correct = registry.correct_case(name, "judge")
    return correct if capability is None else f"{capability}={correct}"


def _correct_address(key: str, registry: Registry) -> str:
    head, colon, rest = key.rpartition(":")
    kind = find_kind(head) if colon else None
    if kind:
        return f"{kind}:{registry.correct_case(rest, kind)}"
    return key if colon else registry.correct_case(key, *KINDS)  # a wrong kind is refused later


def refuse_folders(request: Request, registry: Registry) -> None:
    """Refuse a folder in place of a generator, and say which generator reads it.

    Raises:
        UnknownName: A model names a folder, not a generator.
    """
    for model in request.models:
        for spec in map(str, list_values(model.spec)):
            parsed = Spec.parse(spec)
            known = registry.catalogue.find_entries("generator", parsed.name, parsed.dist)
            if known or registry.find_missing_dist(parsed.name):
                continue
            for name in (spec, f"{model.label}={spec}"):  # a folder's name may look like a label
                folder = Path(expand_home(name))
                if folder.is_dir():
                    way = "diffusers" if (folder / "model_index.json").is_file() else "folder"
                    raise UnknownName(f"unknown generator {name!r}: it is a folder; write {way}:{name}")
