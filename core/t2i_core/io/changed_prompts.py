"""Prompt sources that change the texts of other prompts, such as by typing errors or a chat model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..api.errors import BadPrompts
from ..api.plugin_guard import guard_plugin
from ..api.plugin_info import Setup
from ..api.prompt import Prompt
from ..api.resolver import installed_resolver
from .prompt_file import is_prompt_file, merge_duplicates, read_prompts

ORIGINAL = "original"
"""The facet with the text before it was changed."""


def load_originals(setup: Setup[Any], name: str) -> Sequence[Prompt]:
    """Return the prompts that a source changes.

    They are those of the run, if it perturbs prompts (`--perturb`), else those of the file or source that the
    argument names.

    Args:
        setup: The source's setup.
        name: The source's name, for messages.

    Raises:
        BadPrompts: If neither exists.
    """
    if setup.prompts is not None:
        return setup.prompts
    if not setup.argument:
        raise BadPrompts(f"prompts {name!r}: name the prompts to change, {name}:FILE or {name}:SOURCE")
    if is_prompt_file(setup.argument):
        return merge_duplicates(read_prompts(setup.argument))[0]
    source = installed_resolver().component("prompt_source", setup.argument, {})
    with guard_plugin(source, "to give its prompts"):
        own = replace(
            source.setup(), offline=setup.offline, labels=setup.labels, dry=setup.dry, budget=setup.budget
        )
        return list(source.info.prompts(own))


def change_text(prompt: Prompt, text: str) -> Prompt:
    """Return a prompt with another text, and its own text as the facet `original`."""
    return replace(prompt, text=text, facets={**prompt.facets, ORIGINAL: prompt.text})
