"""Typing errors by a seeded rule.

A word is a run of letters. Each word that is long enough gets one error with the probability `rate`,
independently. The kinds of errors are equally likely: two neighbouring letters swapped, a letter dropped, a letter
doubled, or a letter replaced by a neighbour on a QWERTY keyboard. The first letter stays. A kind that would not
change the word (two equal letters swapped, a letter without neighbours) gives way to the next one. The draws of a
word depend on the seed, the text and the word's place alone: a higher rate changes the same words in the same way,
and some more.
"""

from __future__ import annotations

import random
import re

from t2i_core.api.digest import digest_data

from t2i_heim.options import TypoOptions
from t2i_heim.quoted_parts import change_parts

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[^\W\d_]+")


def _list_neighbours() -> dict[str, str]:
    """Return the keys beside each key, and those above and below it, whose rows are shifted by half a key."""
    found: dict[str, set[str]] = {letter: set() for row in _ROWS for letter in row}
    for number, row in enumerate(_ROWS):
        for at, letter in enumerate(row):
            beside = [row[at + 1 : at + 2]]
            below = _ROWS[number + 1][max(0, at - 1) : at + 1] if number + 1 < len(_ROWS) else ""
            for other in (*beside, *below):
                if other:
                    found[letter].add(other)
                    found[other].add(letter)
    return {letter: "".join(sorted(others)) for letter, others in found.items()}


NEIGHBOURS = _list_neighbours()
"""The neighbouring keys of each letter."""

KINDS = ("swap", "drop", "double", "neighbour")


def make_typos(text: str, options: TypoOptions) -> str:
    """Return a text with typing errors."""
    place = iter(range(len(text)))

    def change(part: str) -> str:
        return _WORD.sub(lambda match: _change_word(match[0], next(place), text, options), part)

    return change_parts(text, change, options.quoted)


def _change_word(word: str, place: int, text: str, options: TypoOptions) -> str:
    if len(word) < options.shortest:
        return word
    rng = random.Random(int(digest_data(["typo", options.seed, text, place])[:16], 16))
    if rng.random() >= options.rate:
        return word
    at = rng.randrange(1, len(word))
    first = rng.randrange(len(KINDS))
    choice = rng.random()
    changed = (apply_error(word, at, KINDS[(first + turn) % len(KINDS)], choice) for turn in range(len(KINDS)))
    return next(found for found in changed if found != word)


def apply_error(word: str, at: int, kind: str, choice: float) -> str:
    """Return a word with one error; the word itself if this kind cannot change it.

    Args:
        word: The word.
        at: Place of the letter, from 1.
        kind: One of `KINDS`.
        choice: Which neighbour on the keyboard is taken, in [0, 1).
    """
    if kind == "swap":
        left = at if at + 1 < len(word) else at - 1
        if left < 1:
            return word
        return word[:left] + word[left + 1] + word[left] + word[left + 2 :]
    if kind == "drop":
        return word[:at] + word[at + 1 :]
    if kind == "double":
        return word[: at + 1] + word[at:]
    beside = NEIGHBOURS.get(word[at].lower(), "")
    if not beside:
        return word
    letter = beside[int(choice * len(beside))]
    return word[:at] + (letter.upper() if word[at].isupper() else letter) + word[at + 1 :]
