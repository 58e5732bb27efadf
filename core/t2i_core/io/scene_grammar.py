"""The grammar by which prompts are read as scenes, and scenes written as prompts.

Reading is deterministic and uses no language model. In EBNF, in lower case; words of the vocabulary are `noun`:

    prompt    = [ opening ] , phrase , [ "is" | "are" ] , { link , phrase } , { ";" , statement } , [ "." ] ;
    opening   = [ article ] , medium , "of" | "there" , ( "is" | "are" ) ;
    medium    = "photo" | "photograph" | "picture" | "image" | "painting" | "drawing" | "illustration" | "sketch"
              | "rendering" | "render" ;
    phrase    = [ article | number ] , [ colour ] , noun ;
    article   = "a" | "an" | "the" ;
    number    = "one" | "two" | ... | "twenty" | digits ;
    colour    = "red" | "orange" | "yellow" | "green" | "blue" | "purple" | "pink" | "brown" | "black" | "white"
              | "gray" | "grey" ;
    link      = "," , [ "and" ] | "and" | "with" | "next to" | "beside" | "near" | relation ;
    relation  = [ "to" | "on" ] , [ "the" ] , ( "left" | "right" ) , ( "of" | "side of" | "to" )
              | "above" | "over" | "on top of" | "below" | "under" | "underneath" | "beneath" ;
    statement = phrase , ( "is" | "are" ) , relation , phrase ;

Each phrase of the first part is one object of the scene, in this order. A noun without article or number means
one object, so it must be singular. A noun of several words takes precedence over a colour and a noun. After `is`
or `are`, the link must be a relation. A relation holds between the phrases on its two sides; other links say
only that the objects are there. The phrases of a statement name objects of the first part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..api.errors import did_you_mean
from ..api.prompt import ObjectClass, Relation, Scene, SceneObject
from .vocabulary import COLOURS, NUMBERS, OTHER_COLOURS, Vocabulary, pluralize, singularize, split_words

ARTICLES = ("a", "an", "the")
MEDIA = (
    "photo", "photograph", "picture", "image", "painting", "drawing", "illustration", "sketch", "rendering",
    "render",
)  # fmt: skip
_LINKS = ((",", "and"), (",",), ("and",), ("with",), ("next", "to"), ("beside",), ("near",))
_SIDES = [
    ((*start, *article, side, *rest), side)
    for side in ("left", "right")
    for start in ((), ("to",), ("on",))
    for article in ((), ("the",))
    for rest in (("side", "of"), ("of",), ("to",))
]
_HEIGHTS = [
    *(((word,), "above") for word in ("above", "over")),
    (("on", "top", "of"), "above"),
    *(((word,), "below") for word in ("below", "under", "underneath", "beneath")),
]
RELATIONS = dict(sorted([*_SIDES, *_HEIGHTS], key=lambda each: -len(each[0])))
"""Predicates of relations by their words, the longest first."""

_WRITTEN = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}
_COUNT_WORDS = {number: word for word, number in NUMBERS.items()}
MAX_COUNT = 1000


class UnreadText(ValueError):
    """A text that the grammar cannot read; the message says what stopped it."""


@dataclass
class _WordReader:
    """Reads words from left to right."""

    words: Sequence[str]
    vocabulary: Vocabulary
    place: int = 0

    @property
    def rest(self) -> Sequence[str]:
        return self.words[self.place :]

    def take(self, *choices: str) -> str | None:
        """Take the next word if it is one of these."""
        if self.rest and self.rest[0] in choices:
            self.place += 1
            return self.words[self.place - 1]
        return None

    def take_words(self, words: Sequence[str]) -> bool:
        if found := tuple(self.rest[: len(words)]) == tuple(words):
            self.place += len(words)
        return found

    def read_opening(self) -> None:
        start = self.place
        if self.take("there"):
            if self.take("is", "are"):
                return
        else:
            self.take(*ARTICLES)
            if self.take(*MEDIA) and self.take("of"):
                return
        self.place = start

    def read_relation(self) -> str | None:
        return next((predicate for words, predicate in RELATIONS.items() if self.take_words(words)), None)

    def read_phrase(self) -> SceneObject:
        article = self.take(*ARTICLES)
        count = None if article else self.read_number()
        colour = None
        if self.rest and (name := OTHER_COLOURS.get(self.rest[0], self.rest[0])) in COLOURS:
            whole = self.vocabulary.find(self.rest)  # a noun of several words, or the fruit `orange`
            if whole is None or (whole[1] == 1 and self.vocabulary.find(self.rest[1:])):
                colour = name
                self.place += 1
        found = self.vocabulary.find(self.rest)
        if found is None:
            raise UnreadText(self.explain())
        noun, length = found
        written = " ".join(self.rest[:length])
        if (count or 1) == 1 and not noun.singular:
            many = f"{article or 'one'!r} needs a singular noun" if article or count else "how many?"
            raise UnreadText(f"stopped at {written!r}: {many}")
        self.place += length
        return SceneObject(noun.cls, colour, count or 1)

    def read_number(self) -> int | None:
        if not self.rest:
            return None
        word = self.rest[0]
        count = NUMBERS.get(word, int(word) if word.isascii() and word.isdecimal() and len(word) < 5 else None)
        if count is not None:
            if not 1 <= count <= MAX_COUNT:
                raise UnreadText(f"stopped at {word!r}: a count must be between 1 and {MAX_COUNT}")
            self.place += 1
        return count

    def explain(self) -> str:
        """Return what stops the reader here, where a noun must follow."""
        if not self.rest:
            return "the text ends where a noun must follow"
        word = self.rest[0]
        near = did_you_mean(word, [" ".join(w) for w, noun in self.vocabulary.nouns.items() if noun.singular])
        return f"stopped at {word!r}, which is not a class of {self.vocabulary.name}{near}"


def parse_scene(text: str, vocabulary: Vocabulary) -> Scene:
    """Return the scene that a prompt describes.

    Raises:
        UnreadText: If the text is not of the grammar, or names a class that the vocabulary lacks.
    """
    reader = _WordReader(split_words(text), vocabulary)
    reader.read_opening()
    objects = [reader.read_phrase()]
    relations: list[Relation] = []
    stated = reader.take("is", "are")
    while (predicate := _read_link(reader)) is not None:
        if stated and not predicate:
            break
        stated = None
        objects.append(reader.read_phrase())
        if predicate:
            relations.append(Relation(len(objects) - 2, predicate, len(objects) - 1))
    while reader.take(";"):
        relations.append(_read_statement(reader, objects))
    if stated:
        raise UnreadText(f"stopped after {stated!r}: a relation (left of, above, ...) must follow")
    reader.take(".")
    if reader.rest:
        raise UnreadText(f"stopped at {reader.rest[0]!r}: a link (and, with, left of, ...) or the end must follow")
    return Scene(tuple(objects), tuple(relations))


def parse_free_phrase(text: str) -> SceneObject:
    """Return the object of a phrase whose noun is of no known vocabulary: all words after number and colour.

    After a number above one, the noun is put into the singular by its spelling.

    Raises:
        UnreadText: If there is no noun.
    """
    reader = _WordReader(split_words(text), Vocabulary("", ()))
    count = None if reader.take(*ARTICLES) else reader.read_number()
    colour = reader.take(*COLOURS, *OTHER_COLOURS) if len(reader.rest) > 1 else None
    noun = " ".join(reader.rest)
    if not any(map(str.isalpha, noun)):
        raise UnreadText("it has no noun")
    name = singularize(noun) if (count or 1) > 1 else noun
    return SceneObject(ObjectClass(name), OTHER_COLOURS.get(colour or "", colour), count or 1)


def find_predicate(text: str) -> str | None:
    """Return the predicate of a relation's words (`to the left of`), or of its own name (`left`)."""
    return text if text in _WRITTEN else RELATIONS.get(tuple(split_words(text)))


def _read_link(reader: _WordReader) -> str | None:
    """Return the predicate of a link; empty if it is not a relation, None if no link follows."""
    if (predicate := reader.read_relation()) is not None:
        return predicate
    return "" if any(reader.take_words(words) for words in _LINKS) else None


def _read_statement(reader: _WordReader, objects: Sequence[SceneObject]) -> Relation:
    subject = _find_object(reader, objects)
    if not reader.take("is", "are"):
        raise UnreadText(f"stopped at {' '.join(reader.rest[:1])!r}: 'is' or 'are' must follow")
    if (predicate := reader.read_relation()) is None:
        raise UnreadText(f"stopped at {' '.join(reader.rest[:1])!r}: a relation (left of, above, ...) must follow")
    return Relation(subject, predicate, _find_object(reader, objects))


def _find_object(reader: _WordReader, objects: Sequence[SceneObject]) -> int:
    """Return the number of the object that a phrase of a statement means."""
    start = reader.place
    meant = reader.read_phrase()
    written = " ".join(reader.words[start : reader.place])
    found = [number for number, each in enumerate(objects) if _means(meant, each)]
    if len(found) != 1:
        raise UnreadText(f"{written!r} means {'several objects' if found else 'no object'} of the text")
    return found[0]


def _means(phrase: SceneObject, thing: SceneObject) -> bool:
    """Return whether the phrase of a statement means an object; colour and count may be left out."""
    return phrase.cls == thing.cls and phrase.colour in (None, thing.colour) and phrase.count in (1, thing.count)


def write_scene(scene: Scene) -> str:
    """Return a prompt of the grammar that describes a scene.

    Relations are written between neighbouring objects as far as their order allows, the others as statements.

    Raises:
        ValueError: If the grammar cannot say it: no objects, attributes, unknown colours, or a relation of an
            object whose phrase means several.
    """
    if not scene.objects:
        raise ValueError("the scene has no objects")
    links: dict[int, str] = {}
    for relation in scene.relations:
        if relation.object != relation.subject + 1 or relation.subject <= max(links, default=-1):
            break
        links[relation.subject] = relation.predicate
    statements = [_write_statement(scene, relation) for relation in scene.relations[len(links) :]]
    return "; ".join(["a photo of " + "".join(_write_parts(scene, links)), *statements])


def _write_statement(scene: Scene, relation: Relation) -> str:
    subject, other = scene.objects[relation.subject], scene.objects[relation.object]
    for thing in (subject, other):
        if sum(_means(thing, each) for each in scene.objects) != 1:
            raise ValueError(f"{write_phrase(thing)!r} means several objects, so its relation cannot be written")
    verb = "is" if subject.count == 1 else "are"
    return f"{write_phrase(subject)} {verb} {_WRITTEN[relation.predicate]} {write_phrase(other)}"


def _write_parts(scene: Scene, links: Mapping[int, str]) -> Iterator[str]:
    for number, each in enumerate(scene.objects):
        yield write_phrase(each)
        if number < len(scene.objects) - 1:
            comma = number not in links and number + 1 not in links and number < len(scene.objects) - 2
            yield ", " if comma else f" {_WRITTEN[links[number]] if number in links else 'and'} "


def write_phrase(thing: SceneObject) -> str:
    """Return the phrase of one object. Raises ValueError if it has attributes or an unknown colour."""
    if thing.attributes or thing.colour not in (None, *COLOURS):
        raise ValueError(
            f"{thing.cls.name}: the grammar has no attributes and only the colours {', '.join(COLOURS)}"
        )
    name = " ".join(split_words(thing.cls.name))
    noun = f"{thing.colour} " if thing.colour else ""
    noun += name if thing.count == 1 else pluralize(name)
    if thing.count > 1:
        return f"{_COUNT_WORDS.get(thing.count, thing.count)} {noun}"
    return f"{'an' if re.match('[aeiou]', noun) else 'a'} {noun}"
