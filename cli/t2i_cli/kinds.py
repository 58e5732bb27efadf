"""Names of component kinds on the command line."""

from __future__ import annotations

from typing import get_args

import typer
from t2i_core.api.errors import did_you_mean
from t2i_registry.discovery import EntryKind

_OTHER_WORDS: dict[str, EntryKind] = {"prompt": "prompt_source"}


def read_kind(word: str, where: str) -> EntryKind:
    """Return the kind that a word names.

    Args:
        word: Singular or plural (`prompts`, `prompt-source`, `metrics`).
        where: Option or argument that holds the word, for the message.

    Raises:
        typer.BadParameter: The word names no kind.
    """
    singular = word.strip().lower().replace("-", "_").removesuffix("s")
    kinds: dict[str, EntryKind] = {**{kind: kind for kind in get_args(EntryKind)}, **_OTHER_WORDS}
    if singular not in kinds:
        near = did_you_mean(singular, kinds) or f"; choose one of {', '.join(get_args(EntryKind))}"
        raise typer.BadParameter(f"unknown kind {word!r}{near}", param_hint=where)
    return kinds[singular]
