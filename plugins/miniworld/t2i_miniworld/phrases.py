"""Parser of texts about the mini world: things with their numbers, looks and relations.

It reads numbers, paints, names and words for clothes in order, and ignores every other word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from t2i_miniworld.names import NameMeaning, nouns, words
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.vocabulary import HAIR, SYNSETS

#: The inverse of each relation.
OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above"}

#: Numbers in words.
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_ARTICLES = {"a": 1, "an": 1, "another": 1, "the": None, "some": None, "many": None, "several": None}
_DENIALS = frozenset({"no", "not", "without"})
#: Words that end a noun phrase before its noun: "a blue photo of a dog" has no blue dog.
_BREAKS = frozenset({"of", "with", "in", "on", "at", "by", "from", "to", "is", "are", ".", ";"})
_WORN = {"hat": "hat", "hats": "hat", "hair": "hair", "coat": "coat", "coats": "coat"}
_HUMAN = frozenset({SYNSETS["human"]})
#: Number of words of the longest name.
_LONGEST = max(map(len, nouns()))

#: Words without a meaning of their own, which questions about pictures and descriptions of pictures have.
_FILLERS = frozenset(
    words(
        "this that these there it does do how what which exactly any other image picture photo photograph show "
        "figure shows shown see contain contains have colour color and who wears wearing you can drawn rendered ,"
    )
)


@dataclass(frozen=True)
class Phrase:
    """Things that a text names together.

    Attributes:
        leaves: Leaves that each of them may be; empty for things that cannot exist, such as a dog with a hat.
        count: Their number; None if the text leaves it open (dogs, the dogs).
        paints: Their paints; empty if left open, several for a red and white car, which has both.
        worn: What a human wears, with the names of `laws.ATTRIBUTES`.
    """

    leaves: frozenset[str]
    count: int | None = 1
    paints: tuple[str, ...] = ()
    worn: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SideRelation:
    """One end of a relation: a thing, one of ``leaves``, is left of another, above another, and so on."""

    leaves: frozenset[str]
    predicate: str


@dataclass(frozen=True)
class Reading:
    """Content of a text. ``sides`` come in pairs, one for each end of a relation."""

    phrases: tuple[Phrase, ...] = ()
    sides: tuple[SideRelation, ...] = ()


@dataclass
class _Pending:
    """Words read so far about a thing whose name has not been read yet."""

    count: int | None = None
    paints: tuple[str, ...] = ()
    length: str | None = None
    worn: dict[str, str] = field(default_factory=dict)
    denied: bool = False


def read(text: str) -> Reading:
    """Parse a text.

    Text in brackets explains a name (definitions of the hypernymy metrics) and is ignored. Names in a relation
    after a semicolon refer to things named before (PaintSkills' "a photo of a dog and a car; car is left to dog")
    and add no things.
    """
    reader = _PhraseReader()
    for number, clause in enumerate(re.sub(r"\([^()]*\)", " ", text).split(";")):
        said = words(clause)
        reader.read(said, adds=number == 0 or not OPPOSITE.keys() & set(said))
    return Reading(tuple(reader.phrases), tuple(reader.sides))


def find_unread_words(text: str) -> list[str]:
    """Return the words of a text that `read` ignores although they may matter: no names, and no fillers."""
    grammar = (NUMBERS, _ARTICLES, _DENIALS, _BREAKS, _WORN, OPPOSITE, PAINTS, HAIR, ("haired", "hatless"))
    known = _FILLERS.union(*grammar)
    said, at, unread = words(text), 0, []
    while at < len(said):
        noun, length = _noun_at(said, at)
        if noun is None and said[at] not in known and not said[at].isdigit():
            unread.append(said[at])
        at += length
    return unread


class _PhraseReader:
    """State of parsing a text word by word."""

    def __init__(self) -> None:
        self.phrases: list[Phrase] = []
        self.sides: list[SideRelation] = []

    def read(self, said: list[str], adds: bool) -> None:
        """Parse one clause; ``adds``: whether its names are new things."""
        # the last thing named in this clause, and its relation to the next
        subject: frozenset[str] | None = None
        predicate: str | None = None
        pending = _Pending()
        at = 0
        while at < len(said):
            word, (noun, length) = said[at], _noun_at(said, at)
            at += length
            if noun is not None:
                # a name before another noun only describes that noun: the dog of a dog bed
                if at < len(said) and (said[at] in _WORN or _noun_at(said, at)[0] is not None):
                    continue
                if not pending.denied:
                    if adds:
                        self.phrases.append(_phrase(noun, pending))
                    if subject is not None and predicate is not None:
                        self.sides += [
                            SideRelation(subject, predicate),
                            SideRelation(noun.leaves, OPPOSITE[predicate]),
                        ]
                    subject, predicate = noun.leaves, None
                pending = _Pending()
            elif word in _WORN:
                if adds and self.phrases:
                    self.phrases[-1] = _wearing(self.phrases[-1], _worn(_WORN[word], pending))
                pending = _Pending()
            elif word in OPPOSITE:
                predicate = word
                pending = _Pending()
            else:
                pending = _heard(word, pending)


def _heard(word: str, pending: _Pending) -> _Pending:
    """Return the pending words after a word that is not a name."""
    if word in _ARTICLES:
        return _Pending(count=_ARTICLES[word], denied=pending.denied)
    if word in NUMBERS or re.fullmatch("[0-9]{1,3}", word):
        count = NUMBERS.get(word) or int(word)
        return _Pending(count=count, denied=not count)
    if word in PAINTS:
        return replace(pending, paints=(*pending.paints, word))
    if word in HAIR:
        return replace(pending, length=word)
    if word == "haired" and pending.length is not None:
        return replace(pending, worn={**pending.worn, "hair": pending.length})
    if word == "hatless":
        return replace(pending, worn={**pending.worn, "hat": "no"})
    if word in _DENIALS:
        return _Pending(denied=True)
    return _Pending() if word in _BREAKS else pending


def _phrase(noun: NameMeaning, pending: _Pending) -> Phrase:
    count = pending.count if pending.count is not None or noun.plural else 1
    phrase = Phrase(noun.leaves, count, tuple(dict.fromkeys(pending.paints)))
    return _wearing(phrase, pending.worn)


def _worn(garment: str, pending: _Pending) -> dict[str, str]:
    """Return what a hat, hair or coat is like; empty if the words are true of every human."""
    if garment == "hat":
        return {"hat": "no" if pending.denied else "yes"}
    value = pending.length if garment == "hair" else pending.paints[-1] if pending.paints else None
    return {} if value is None or pending.denied else {garment: value}


def _wearing(phrase: Phrase, worn: dict[str, str]) -> Phrase:
    """Return the things of a phrase wearing this. Only humans remain, because only humans wear anything."""
    if not worn:
        return phrase
    return replace(phrase, leaves=phrase.leaves & _HUMAN, worn={**phrase.worn, **worn})


def _noun_at(said: list[str], at: int) -> tuple[NameMeaning | None, int]:
    """Return the longest name that starts here and its number of words; None and 1 if there is none."""
    known = nouns()
    for length in range(min(_LONGEST, len(said) - at), 0, -1):
        if (noun := known.get(tuple(said[at : at + length]))) is not None:
            return noun, length
    return None, 1
