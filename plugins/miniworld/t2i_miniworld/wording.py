"""Generation of texts from their content: the inverse of `phrases`.

Parsing a text gives the content that it was made from, in any style: ``read(say(reading, style, rng)) ==
reading``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from t2i_miniworld.names import called, plurals
from t2i_miniworld.phrases import OPPOSITE, Phrase, Reading

T = TypeVar("T")

_NUMBERS = ("zero", "one", "two", "three", "four")
#: Ways of listing things, by number of phrases.
_JOININGS = {
    "and": ("{}", "{} and {}", "{}, {} and {}", "{}, {}, {} and {}"),
    # as in TIAM, without commas
    "next": ("{}", "{} and {}", "{} next to {} and {}", "{} next to {} with {} and {}"),
    # "a person with a bike", as in the neutral prompts of the bias paper
    "with": ("{}", "{} with {}", "{} with {} and {}", "{} with {}, {} and {}"),
}
_BETWEEN = {
    "left": ("to the left of", "left of"),
    "right": ("to the right of", "right of"),
    "above": ("above",),
    "below": ("below",),
}
#: Probability of the first wording; the others share the rest.
_USUAL = 0.7


@dataclass(frozen=True)
class Style:
    """Style of a text.

    Attributes:
        frame: Sentence around the list of things.
        articles: Whether to write "a dog" instead of "dog".
        digits: Whether to write "3 dogs" instead of "three dogs".
        one: Whether to write a number for a single thing, too.
        plurals: Whether to write "3 dogs" instead of "3 dog".
        joining: Key of the way of listing.
        clause: Whether a relation follows after a semicolon instead of standing between its things.
    """

    frame: str = "a photo of {}"
    articles: bool = True
    digits: bool = False
    one: bool = False
    plurals: bool = True
    joining: str = "next"
    clause: bool = False


TIAM = Style()
TIAM_COMMA = Style(joining="and")
PAINTSKILLS = Style(articles=False, digits=True, plurals=False, clause=True)
PAINTSKILLS_COUNT = Style(articles=False, digits=True, one=True, plurals=False, clause=True)
HYPERNYMY = Style("An image of {}.")
NEUTRAL = Style("{}", joining="with")

#: Styles of training captions, with their frequencies.
STYLES: dict[Style, float] = {
    TIAM: 0.32,
    TIAM_COMMA: 0.08,
    PAINTSKILLS: 0.12,
    PAINTSKILLS_COUNT: 0.06,
    HYPERNYMY: 0.12,
    NEUTRAL: 0.06,
    Style("a photo of {}", joining="with"): 0.04,
    Style("an image of {}"): 0.05,
    Style("a picture of {}", joining="and", digits=True): 0.05,
    Style("a photo of {}", one=True, joining="and"): 0.05,
    Style("{}", joining="and"): 0.05,
}


def say(reading: Reading, style: Style, rng: np.random.Generator | None = None) -> str:
    """Return a text that is parsed as ``reading``.

    Args:
        reading: The content.
        style: The style.
        rng: Draws the wording. If None, the plainest wording is used.

    Raises:
        ValueError: If the content cannot be expressed: no phrase or more than four, leaves without a name, a
            number above four or left open, several paints, or a relation that is not between the first two things.
    """
    if not 1 <= len(reading.phrases) <= 4 or len(reading.sides) not in (0, 2):
        raise ValueError("a text must have one to four phrases and at most one relation")
    names = [_name(phrase, rng) for phrase in reading.phrases]
    said = [_phrase(phrase, name, style, rng) for phrase, name in zip(reading.phrases, names, strict=True)]
    if not reading.sides:
        return style.frame.format(_listed(said, style))
    subject, predicate = _ends(reading)
    object_ = 1 - subject
    if style.clause:
        listed = style.frame.rstrip(".").format(_listed(said, style))
        how = f"{predicate} to" if predicate in ("left", "right") else predicate
        return f"{listed}; {names[subject]} is {how} {names[object_]}"
    between = said[subject], _pick(_BETWEEN[predicate], rng), said[object_]
    if subject == 0:
        return style.frame.format(" ".join(between))
    raise ValueError("a relation within one sentence must start from the first thing")


def grammar_words() -> list[str]:
    """Return all words of texts except names and paints, in any order."""
    texts = [style.frame for style in STYLES]
    texts += [text for listing in _JOININGS.values() for text in listing]
    texts += [text for ways in _BETWEEN.values() for text in ways]
    texts += [
        *_NUMBERS[1:],
        "a an is to left right above below with without in no hat hatless coat hair haired short long",
    ]
    return re.findall("[a-z]+", " ".join(texts).lower())


def _ends(reading: Reading) -> tuple[int, str]:
    """Return the index of the phrase that the relation starts from, and the relation."""
    first, second = reading.sides
    leaves = [phrase.leaves for phrase in reading.phrases]
    if (
        len(leaves) != 2
        or OPPOSITE[first.predicate] != second.predicate
        or any(p.count != 1 for p in reading.phrases)
    ):
        raise ValueError("a relation must be between two single things")
    if leaves == [first.leaves, second.leaves]:
        return 0, first.predicate
    if leaves == [second.leaves, first.leaves]:
        return 1, first.predicate
    raise ValueError("a relation must be between the things named")


def _name(phrase: Phrase, rng: np.random.Generator | None) -> str:
    """Return a name for one such thing."""
    if phrase.leaves not in called():
        raise ValueError(f"no name for {', '.join(sorted(phrase.leaves)) or 'nothing'}")
    return _pick(called()[phrase.leaves], rng)


def _phrase(phrase: Phrase, name: str, style: Style, rng: np.random.Generator | None) -> str:
    if phrase.count is None or not 1 <= phrase.count <= 4 or len(phrase.paints) > 1:
        raise ValueError("a phrase must have one to four things, in one paint at most")
    before, after = _worn(phrase.worn, rng)
    noun = _pick(plurals(name), rng) if phrase.count > 1 and style.plurals else name
    described = " ".join([*before, *phrase.paints, noun]) + after
    if phrase.count > 1 or style.one:
        return f"{phrase.count if style.digits else _NUMBERS[phrase.count]} {described}"
    return _with_article(described) if style.articles else described


def _worn(worn: dict[str, str], rng: np.random.Generator | None) -> tuple[list[str], str]:
    """Return the words for what people wear, before and after their name."""
    before: list[str] = []
    after: list[str] = []
    for attribute, value in worn.items():
        early = _pick((False, True), rng)
        if attribute == "coat":
            after.append(f"a {value} coat")
        elif attribute == "hair":
            (before if early else after).append(f"{value}-haired" if early else f"{value} hair")
        elif value == "yes":
            after.append("a hat")
        else:
            (before if early else after).append("hatless" if early else "no hat")
    if not after:
        return before, ""
    if after == ["no hat"]:
        return before, _pick((" without a hat", " with no hat"), rng)
    if len(after) == 1 and after[0].endswith("coat"):
        return before, _pick((" in ", " with "), rng) + after[0]
    return before, " with " + (", ".join(after[:-1]) + " and " if after[1:] else "") + after[-1]


def _listed(said: Sequence[str], style: Style) -> str:
    return _JOININGS[style.joining][len(said) - 1].format(*said)


def _with_article(described: str) -> str:
    return f"{'an' if described[0] in 'aeiou' else 'a'} {described}"


def _pick(ways: Sequence[T], rng: np.random.Generator | None) -> T:
    if rng is None or len(ways) == 1 or rng.random() < _USUAL:
        return ways[0]
    return ways[int(rng.integers(1, len(ways)))]
