"""Vocabularies: classes of objects by the nouns that name them, singular and plural, and the words of scenes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..api.errors import BadOption
from ..api.prompt import ObjectClass
from .table import read_table

Words = tuple[str, ...]

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray")
"""Colours that a noun may have."""

OTHER_COLOURS = {"grey": "gray"}
"""Other spellings of colours."""

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip
"""Number words; digits are read too."""

_IRREGULAR = {
    "person": "people", "man": "men", "woman": "women", "child": "children", "mouse": "mice", "goose": "geese",
    "foot": "feet", "tooth": "teeth", "ox": "oxen", "knife": "knives", "wife": "wives", "leaf": "leaves",
    "loaf": "loaves", "shelf": "shelves", "wolf": "wolves", "calf": "calves", "scarf": "scarves",
    "sheep": "sheep", "deer": "deer", "fish": "fish", "aircraft": "aircraft",
    "scissors": "scissors", "skis": "skis", "pants": "pants", "jeans": "jeans",
    "bus": "buses", "lens": "lenses", "tie": "ties", "necktie": "neckties", "pie": "pies",
    "cookie": "cookies", "movie": "movies",
}  # fmt: skip
"""Plurals of nouns that do not follow the rules of spelling."""


def split_words(text: str) -> list[str]:
    """Return the words, numbers and marks of a text in lower case. Hyphens separate words, apostrophes do not."""
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s-]|_", text.casefold().replace("-", " "))


def pluralize(noun: str) -> str:
    """Return the plural of a noun of one or several words (`fire hydrants`), by spelling."""
    *first, last = noun.split(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif re.search(r"(s|x|z|ch|sh)$", last):
        last += "es"
    elif re.search(r"[^aeiou]y$", last):
        last = f"{last[:-1]}ies"
    else:
        last += "s"
    return " ".join([*first, last])


def singularize(noun: str) -> str:
    """Return the singular of a plural by spelling; a noun that is not a plural by spelling is unchanged."""
    *first, last = noun.split(" ")
    irregular = {plural: singular for singular, plural in _IRREGULAR.items()}
    endings = (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", ""))
    if last in irregular:
        last = irregular[last]
    elif not last.endswith("ss"):
        ending, instead = next(((e, i) for e, i in endings if last.endswith(e) and last != e), ("", ""))
        last = last.removesuffix(ending) + instead
    return " ".join([*first, last])


@dataclass(frozen=True)
class Noun:
    """A noun of a vocabulary.

    Attributes:
        cls: Its class, under the first name that the vocabulary lists for it.
        singular: Whether it may mean one object.
        plural: Whether it may mean several.
    """

    cls: ObjectClass
    singular: bool
    plural: bool


@dataclass(frozen=True)
class Vocabulary:
    """The classes that prompts may name.

    Attributes:
        name: Its name, for messages.
        classes: The classes. Those of one synset are one class under several names, of which the first is used.
    """

    name: str
    classes: tuple[ObjectClass, ...]

    @cached_property
    def nouns(self) -> Mapping[Words, Noun]:
        """The nouns by their words. A class's own name takes precedence over the plural of another."""
        first: dict[str, ObjectClass] = {}
        for cls in self.classes:
            first.setdefault(cls.synset or cls.name, cls)
        own: dict[Words, Noun] = {}
        plurals: dict[Words, Noun] = {}
        for cls in self.classes:
            meant = first[cls.synset or cls.name]
            name = " ".join(split_words(cls.name))
            # some lists of prompts write `knifes` and `sheeps`
            several = {pluralize(name), f"{name}s", f"{name}es" if name.endswith(("s", "sh", "ch", "x")) else name}
            own.setdefault(tuple(name.split()), Noun(meant, True, True))
            for plural in sorted(several - {name}):
                plurals.setdefault(tuple(plural.split()), Noun(meant, False, True))
        return {**plurals, **own}

    @cached_property
    def longest(self) -> int:
        """The largest number of words of a noun."""
        return max(map(len, self.nouns), default=0)

    def find(self, words: Sequence[str]) -> tuple[Noun, int] | None:
        """Return the longest noun with which words begin and its number of words; None if none matches."""
        for count in range(min(self.longest, len(words)), 0, -1):
            if (noun := self.nouns.get(tuple(words[:count]))) is not None:
                return noun, count
        return None


def is_class_file(name: str) -> bool:
    """Return whether a vocabulary's name is that of a table of classes."""
    return Path(name).suffix.lower() in (".csv", ".tsv")


def read_classes(path: Path) -> Vocabulary:
    """Return the vocabulary of a table with the columns `name` and, optionally, `synset` (`car.n.01`).

    Raises:
        BadOption: If the file is not such a table, or lists no class.
    """
    rows = read_table(path, BadOption, ("name",))
    for row in rows:
        if "name" not in row.cells:
            raise BadOption(f"{path}, line {row.line}: column 'name' is empty; fill it in or delete the line")
    if not rows:
        raise BadOption(f"{path}: lists no class; add one")
    return Vocabulary(str(path), tuple(ObjectClass(row.cells["name"], row.cells.get("synset")) for row in rows))
