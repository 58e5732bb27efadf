"""Inflected forms of nouns by WordNet's rules (morphy), as NLTK applies them.

A form has a noun as its base form if it is the noun itself, if the list of exceptions names the noun for it
(`mice`, `mouse`), or, for forms that are not in the list, if one of the rules of detachment leads to the noun
(`dogs`, `dog`).

References:
    morphy(7WN), WordNet 3.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from .wordnet import EXCEPTIONS

RULES = (
    ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
    ("men", "man"), ("ies", "y"),
)  # fmt: skip
"""Rules of detachment for nouns: an ending, and what it becomes in the base form."""


@cache
def noun_exceptions() -> Mapping[str, tuple[str, ...]]:
    """Return the base forms of irregular forms; parts of a word are separated by spaces."""
    plain = str.maketrans("_-", "  ")
    lines = (line.split(" ") for line in EXCEPTIONS.read_text().splitlines())
    return {form.translate(plain): tuple(base.translate(plain) for base in bases) for form, *bases in lines}


def inflect(nouns: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return every form of some nouns with its base forms among them.

    Args:
        nouns: Nouns in lower case, their parts separated by single spaces.

    Example:
        >>> inflect(["dog", "man"])
        {'dog': ('dog',), 'dogs': ('dog',), 'man': ('man',), 'mans': ('man',), 'men': ('man',)}
    """
    exceptions = noun_exceptions()
    wanted = dict.fromkeys(nouns)
    forms: dict[str, dict[str, None]] = {}
    for noun in wanted:
        forms.setdefault(noun, {})[noun] = None
        for ending, base in RULES:
            form = noun.removesuffix(base) + ending
            if noun.endswith(base) and form not in exceptions:
                forms.setdefault(form, {})[noun] = None
    for form, bases in exceptions.items():
        for base in bases:
            if base in wanted:
                forms.setdefault(form, {})[base] = None
    return {form: tuple(bases) for form, bases in forms.items()}
