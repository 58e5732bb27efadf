"""Numbers in words, and words within texts."""

from __future__ import annotations

import re

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def in_words(number: str) -> str | None:
    """`three` of `3`; None for what is no number from 0 to 10."""
    return NUMBERS[int(number)] if number.isascii() and number.isdigit() and int(number) < len(NUMBERS) else None


def occurrences(words: str, text: str) -> list[re.Match[str]]:
    """Where words stand in a text as words of their own, in any case."""
    return list(re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE))


def replaced(found: re.Match[str], words: str) -> str:
    """The text with other words where some were found, with a capital where those had one."""
    if found[0][0].isupper():
        words = words[0].upper() + words[1:]
    return found.string[: found.start()] + words + found.string[found.end() :]
