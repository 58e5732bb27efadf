"""Scenes of prompts that have none, read from their texts by the grammar (`--scenes`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..api.errors import BadOption, UnknownName
from ..api.judge import Capability
from ..api.observation import Labels
from ..api.plugin_info import GeneratorInfo, Kind
from ..api.prompt import Prompt
from ..io.scene_grammar import UnreadText, parse_scene
from ..io.short_scene import resolve_classes
from ..io.vocabulary import Vocabulary, is_class_file, read_classes
from .component import Component
from .component_finder import ComponentFinder
from .job import declared_labels

KINDS_WITH_CLASSES: tuple[Kind, ...] = ("prompt_source", "judge", "generator")
_FINDING: tuple[Capability, ...] = ("segment", "detect")


def find_vocabulary(name: str, finder: ComponentFinder) -> Vocabulary:
    """Return the vocabulary that `--scenes` names.

    Args:
        name: A prompt source, judge or generator that declares classes, a generator of a domain whose judge does,
            or a CSV file of classes.
        finder: Finds components.

    Raises:
        UnknownName: If there is no such component.
        BadOption: If the component declares no classes, or the file is not valid.
    """
    if is_class_file(name):
        return read_classes(Path(name))
    known: list[str] = []
    for kind in KINDS_WITH_CLASSES:
        try:
            component = finder.look_up(kind, name)
        except UnknownName:
            continue
        known.append(kind.replace("_", " "))
        if (labels := _list_classes(component, finder)) is not None:
            return Vocabulary(name, tuple(labels))
    if known:
        raise BadOption(
            f"--scenes {name}: the {' and the '.join(known)} {name!r} declares no classes; name a judge, a "
            "generator or a prompt source that does, or a CSV file with the columns name and synset"
        )
    names = {str(each["name"]) for each in finder.resolver.manifest() if each["kind"] in KINDS_WITH_CLASSES}
    raise UnknownName.among("classes", name, names, "a CSV file of classes must end in .csv")


def _list_classes(component: Component[Any], finder: ComponentFinder) -> Labels | None:
    """Return the classes of a component, or those of the judge that finds objects in its domain."""
    labels = declared_labels(finder.settle_on_machine(component))
    if labels is None and isinstance(component.info, GeneratorInfo):
        judges = component.info.domain.judges
        judge = next((judges[capability] for capability in _FINDING if capability in judges), None)
        labels = _list_classes(finder.look_up("judge", judge), finder) if judge is not None else None
    return labels


def read_scenes(prompts: Sequence[Prompt], vocabulary: Vocabulary) -> Iterator[tuple[Prompt, str | None]]:
    """Yield each prompt with its scene, and what stopped the grammar if the prompt has none."""
    for prompt in prompts:
        if prompt.scene is not None:
            yield replace(prompt, scene=resolve_classes(prompt.scene, vocabulary)), None
            continue
        try:
            yield replace(prompt, scene=parse_scene(prompt.text, vocabulary)), None
        except UnreadText as error:
            yield prompt, str(error)
