"""The texts that a prompt asks for."""

from __future__ import annotations

import re
from typing import Literal

from t2i_core.api.prompt import Prompt

ATTRIBUTE = "text"
"""Attribute of a scene's object: the text that is written on it."""

_DOUBLE = (('"', '"'), ("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_SINGLE = (("'", "'"), ("‘", "’"))


def _match(opening: str, closing: str) -> str:
    # a straight mark after a digit or letter does not open a quote: a 12" pizza next to a 10" plate
    before = r"(?<!\w)" if opening == closing else ""
    return rf"{before}{opening}([^{opening}{closing}]+){closing}"


_PATTERNS = {
    "double": re.compile("|".join(_match(*pair) for pair in _DOUBLE)),
    # an apostrophe has a letter on both sides
    "all": re.compile(
        "|".join([*(_match(*pair) for pair in _DOUBLE), *(rf"(?<!\w){_match(*pair)}(?!\w)" for pair in _SINGLE)])
    ),
}


def find_asked_texts(prompt: Prompt, facet: str | None, quotes: Literal["double", "all"]) -> tuple[str, ...]:
    """Return the texts that a prompt asks for, in its order.

    Args:
        prompt: The prompt.
        facet: Facet that holds the text. If None, the attribute `text` of the scene's objects; if no object has
            one, the texts in quotes.
        quotes: Which quotes count; see `TextRenderingOptions.quotes`.
    """
    if facet is not None:
        value = str(prompt.facets.get(facet, "")).strip()
        return (value,) if value else ()
    objects = prompt.scene.objects if prompt.scene else ()
    written = [text for each in objects for text in [each.attributes.get(ATTRIBUTE)] * each.count if text]
    return tuple(written) or find_quoted_texts(prompt.text, quotes)


def find_quoted_texts(text: str, quotes: Literal["double", "all"] = "double") -> tuple[str, ...]:
    """Return the texts in quotes, without blank ones."""
    found = (next(group for group in match.groups() if group) for match in _PATTERNS[quotes].finditer(text))
    return tuple(each.strip() for each in found if each.strip())
