"""The tokens of a text that name given words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


class WordNotFound(ValueError):
    """Raised if a word is not in the text, or lies beyond the text encoder's limit."""


def find_word_tokens(text: str, words: Sequence[str], tokenizer: Any) -> list[list[int]]:
    """Return for each word the positions of its tokens, counted with the start token.

    Each word takes its next occurrence that overlaps none of another word. A word may be several, as `fire
    hydrant`. Longer words choose first, so that `dog` does not take the end of `hot dog`.

    Args:
        text: The text.
        words: The words; case does not matter.
        tokenizer: Tokenizer of the text encoder.

    Raises:
        WordNotFound: A word is not in the text, or lies beyond the encoder's limit.
    """
    encoded = tokenizer(text, return_offsets_mapping=True, truncation=True, max_length=tokenizer.model_max_length)
    offsets = encoded["offset_mapping"]
    found: list[list[int]] = []
    for word, place in zip(words, _find_places(text, words), strict=True):
        if place is None:
            raise WordNotFound(f"{word!r} is not named in the prompt")
        first, last = place
        own = [i for i, (start, end) in enumerate(offsets) if start < last and end > first]
        if not own or offsets[own[-1]][1] < last:
            raise WordNotFound(f"{word!r} lies beyond the text encoder's limit")
        found.append(own)
    return found


def _find_places(text: str, words: Sequence[str]) -> list[tuple[int, int] | None]:
    """Return for each word the start and end of its place in the text, or None if it has none."""
    found: list[tuple[int, int] | None] = [None] * len(words)
    for i in sorted(range(len(words)), key=lambda i: -len(words[i])):
        taken = [place for place in found if place is not None]
        for match in re.finditer(rf"(?<!\w){re.escape(words[i])}(?!\w)", text, re.IGNORECASE):
            if all(match.end() <= start or match.start() >= end for start, end in taken):
                found[i] = match.span()
                break
    return found
