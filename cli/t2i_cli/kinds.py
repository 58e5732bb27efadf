"""The words for kinds of components, as commands take them."""

from __future__ import annotations

from typing import get_args

import typer
from t2i_core.api.errors import did_you_mean
from t2i_registry.discovery import EntryKind

_OTHER_WORDS: dict[str, EntryKind] = {"prompt": "prompt_source"}


def read_kind(word: str, where: str) -> EntryKind:
    """Return the kind that a word names, in the singular or plural (`prompts`, `prompt-source`, `metrics`).

    where: the option or argument, for messages. Raises BadParameter.
    """
    singular = word.strip().lower().replace("-", "_").removesuffix("s")
    kinds: dict[str, EntryKind] = {**{kind: kind for kind in get_args(EntryKind)}, **_OTHER_WORDS}
    if singular not in kinds:
        near = did_you_mean(singular, kinds) or f"; want one of {', '.join(get_args(EntryKind))}"
        raise typer.BadParameter(f"unknown kind {word!r}{near}", param_hint=where)
    return kinds[singular]
