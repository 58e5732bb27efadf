"""Number words, and search and replacement of words in texts."""

from __future__ import annotations

import re

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spell_number(number: str) -> str | None:
    """Return the word for a number in digits (`three` for `3`); None unless it is a number from 0 to 10."""
    return NUMBERS[int(number)] if number.isascii() and number.isdigit() and int(number) < len(NUMBERS) else None


def find_words(words: str, text: str) -> list[re.Match[str]]:
    """Return all matches of words in a text, as whole words and ignoring case."""
    return list(re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE))


def replace_match(found: re.Match[str], words: str) -> str:
    """Return the text with the match replaced by other words, capitalised if the match is."""
    if found[0][0].isupper():
        words = words[0].upper() + words[1:]
    return found.string[: found.start()] + words + found.string[found.end() :]
