"""The synsets to predict, from prompt sources and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadPrompts
from t2i_core.api.facet_levels import split_levels
from t2i_core.api.plugin_guard import guard_plugin
from t2i_core.api.prompt import Prompt
from t2i_core.api.resolver import OptionTable, Resolver

from ..taxonomy import Taxonomy
from ..taxonomy_page.content import find_node
from ..wordnet import wordnet
from .questions import Target, Task, ask_for_synset


def read_targets(names: Iterable[str], resolver: Resolver[Any], options: OptionTable, task: Task) -> list[Target]:
    """Return the synsets of lists with the question for each, no synset of a subset twice.

    Args:
        names: Prompt sources, or files for the prompt source `concepts`.
        resolver: Finds prompt sources.
        options: Their options.
        task: What to ask.

    Raises:
        BadPrompts: A list names no synset, or no synset has the neighbours that the task needs.
    """
    taxonomy = wordnet()
    found: dict[tuple[str, str], Target] = {}
    without = 0
    for name in names:
        for synset, subset in _list_synsets(name, resolver, options, taxonomy):
            question = ask_for_synset(taxonomy, synset, subset, task)
            if question is None:
                without += 1
                continue
            found.setdefault((synset, subset), Target(synset, subset, question))
    if not found:
        raise BadPrompts(
            f"none of the {without} synsets of {', '.join(names)} has the neighbours that --task {task} needs; "
            "choose another task"
        )
    return list(found.values())


def _list_synsets(
    name: str, resolver: Resolver[Any], options: OptionTable, taxonomy: Taxonomy
) -> Iterator[tuple[str, str]]:
    is_file = Path(name).is_file() or Path(name).suffix in (".csv", ".tsv")
    spec = f"concepts:{name}" if is_file and ":" not in name else name
    source = resolver.component("prompt_source", spec, options)
    with guard_plugin(source, "to give its prompts"):
        prompts: list[Prompt] = list(source.info.prompts(source.setup()))
    for prompt in prompts:
        synset = find_node(prompt, taxonomy)
        if synset is None:
            raise BadPrompts(
                f"{name}: the prompt {prompt.id!r} names no synset of WordNet; use a list of synsets, such as "
                "easy-concepts, or a CSV file with the column synset"
            )
        for subset in split_levels(str(prompt.facets.get("subset", ""))):
            yield synset, str(subset)
