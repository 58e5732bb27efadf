"""Prompts in parts: those in quotes, which are texts to be drawn, and the others."""

from __future__ import annotations

import re
from collections.abc import Callable

_QUOTED = re.compile(r'("[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»)')


def change_parts(text: str, change: Callable[[str], str], quoted: bool) -> str:
    """Return a text whose parts are changed one by one.

    Args:
        text: The text.
        change: Returns the changed part.
        quoted: Change parts in double quotes, too.
    """
    return "".join(
        part if number % 2 and not quoted else change(part) for number, part in enumerate(_QUOTED.split(text))
    )
