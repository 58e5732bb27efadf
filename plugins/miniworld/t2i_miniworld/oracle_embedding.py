"""The ideal embedding: pictures and texts in one space, where the cosine says how far a text is true of a picture.

The space is made of *concepts*: every class with a name, with or without one of the eight paints, and of humans
also by coat, hat and hair. A picture counts its things under every concept that they belong to: a red retriever
is a retriever, a dog, an animal, a red dog, ... A text (read by `phrases`) has the concepts that it names, and how
many of each. A concept has five dimensions: the first says that there are such things, the others that there are
one, two, three or four. Four more for each class say that one of its things stands left of another, right of it,
above or below; what cannot be drawn (a dog with a hat) has one that no picture reaches.

The cosine of a picture of N things and a text that names m of a concept of which the picture has n, for each of
its concepts, is

    SHARED + (1 - SHARED) * (sum of value * sqrt(m * n) + true sides) / sqrt((sum of m + sides) * N * length()),

where m is 1 if the text leaves the number open, and a side is one end of a relation that the text states. The
value is the concept's `weight` (1 for entity, up to 1.25 the fewer such things there can be) where m is n, .71 of
it where the number is open or above four, and half of it where m is another number than n. Whence

- a true text (it gives the number of all that it names rightly) beats the same text with a class, paint, number,
  attribute or relation that is wrong;
- of two true texts the one that says more wins: retriever before dog before animal, a red dog before a dog;
- a text of one thing has the same cosine, SHARED + (1 - SHARED) * weight / sqrt(length()), with a picture of any
  one thing that it is true of, and SHARED with a picture of which nothing in it is true.

The first dimension is the same in every picture and text, as CLIP's cosines too are far above 0 for any photo and
any caption; the second, which no text has, makes all pictures of N things equally long. So a picture without
things has the cosine SHARED with every text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from t2i_core.api import Embedding, Failure, Instance, Truth

from t2i_miniworld.annotations import leaf_of, relation_of
from t2i_miniworld.names import nouns
from t2i_miniworld.palette import PAINTS
from t2i_miniworld.phrases import OPPOSITE, Phrase, read
from t2i_miniworld.vocabulary import HAIR, HAT, LEAVES, SYNSETS

#: The cosine of a text with a picture of which nothing in it is true.
SHARED = 0.1

_HUMAN = SYNSETS["human"]
#: A concept's dimensions: that there are such things, then whether there are one, two, three, four.
_BLOCK = 5
#: Those dimensions for none, one, two, three and four things, and for an open or larger number.
_ONE = np.eye(_BLOCK)
_COUNTED = np.vstack([0 * _ONE[0], _ONE[0] + _ONE[1:], _ONE[0]]) / math.sqrt(2)
_OPEN = len(_COUNTED) - 1
_ALIKE, _REST, _NEVER, _CONCEPTS = 0, 1, 2, 3


@dataclass(frozen=True)
class Concept:
    """Things of a class, as `leaves`, and what they look like; None where any look will do."""

    leaves: frozenset[str]
    paint: str | None = None
    coat: str | None = None
    hat: str | None = None
    hair: str | None = None

    def within(self, wider: Concept) -> bool:
        """Whether there are such things and all of them belong to the ``wider`` concept."""
        return (
            bool(self.leaves)
            and self.leaves <= wider.leaves
            and wider.paint in (None, self.paint)
            and wider.coat in (None, self.coat or self.paint)
            and wider.hat in (None, self.hat)
            and wider.hair in (None, self.hair)
        )


def embed_image(shown: Truth) -> Embedding:
    """The concepts of all that is drawn, and how each thing stands to the others."""
    vector = np.zeros(size())
    if shown.instances:
        wider = [_wider(_thing(instance)) for instance in shown.instances]
        counts = np.bincount(np.concatenate(wider), minlength=len(_numbers()))
        _blocks(vector)[:] = _COUNTED[np.minimum(counts, _OPEN)] * (_weights() * np.sqrt(counts))[:, None]
        for subject, object_ in permutations(shown.instances, 2):
            vector[_sides_of(leaf_of(subject), relation_of(subject, object_))] = 1
        vector[_REST] = math.sqrt(max(0.0, len(shown.instances) * length() - float(vector @ vector)))
    else:
        vector[_REST] = 1
    return _shared(vector)


def embed_text(text: str) -> Embedding | Failure:
    """The concepts that a text names; a failure where it names nothing that the mini world has."""
    reading = read(text)
    if not reading.phrases:
        return Failure(f"the text {text!r} names nothing that the mini world has")
    vector, never = np.zeros(size()), 0
    for concept in dict.fromkeys(concept for phrase in reading.phrases for concept in _stated(phrase)):
        count, number = _count(concept, reading.phrases), _numbers().get(concept)
        if number is None:
            never += count or 1
        else:
            block = _COUNTED[_OPEN if count is None else min(count, _OPEN)]
            _blocks(vector)[number] = math.sqrt(count or 1) * block / np.linalg.norm(block)
    vector[_NEVER] = math.sqrt(never)
    for side in reading.sides:
        vector[_side(side.leaves, side.predicate)] = 1
    return _shared(vector)


def weight(concept: Concept) -> float:
    """1 for everything there is, 1.25 for the fewest things: by the logarithm of the concept's share of all.

    Its share of a world in which leaves, looks (natural or one of the paints), coats, hats and hair are even.
    """
    looks = 1 + len(PAINTS)
    share = len(concept.leaves) / len(LEAVES)
    if concept.paint is not None:
        share /= looks
    elif concept.coat is not None:
        share /= len(PAINTS)
    share /= (len(HAT) if concept.hat else 1) * (len(HAIR) if concept.hair else 1)
    least = 1 / len(LEAVES) / looks / len(HAT) / len(HAIR)
    return 1 + math.log(share) / math.log(least) / 4


@cache
def length() -> float:
    """A picture's squared length for each thing in it, less what is shared: the most that one thing can take."""
    paint = next(iter(PAINTS))
    concepts = max(
        (_weights()[list(_wider(Concept(frozenset({leaf}), *look, HAT[0], HAIR[0])))] ** 2).sum()
        for leaf, look in product(LEAVES, ((paint, None), (None, paint)))
    )
    return float(concepts) + len(OPPOSITE) * max(len(_sides_of(leaf, "left")) for leaf in LEAVES)


def _thing(instance: Instance) -> Concept:
    """The narrowest concept of a drawn thing."""
    worn = {name: instance.attributes.get(name) for name in ("coat", "hat", "hair")}
    return _canonical(Concept(frozenset({leaf_of(instance)}), instance.colour, **worn))


def _stated(phrase: Phrase) -> list[Concept]:
    """What a phrase states: one concept, or one for each of several paints."""
    return [_canonical(Concept(phrase.leaves, paint, **phrase.worn)) for paint in phrase.paints or (None,)]


def _canonical(concept: Concept) -> Concept:
    """A painted human wears a coat of that paint, so that to say so says no more."""
    return replace(concept, coat=None) if concept.paint == concept.coat else concept


def _count(concept: Concept, phrases: tuple[Phrase, ...]) -> int | None:
    """How many of a text's things belong to a concept; None where it leaves that open."""
    counts = [
        phrase.count for phrase in phrases if any(one == concept or one.within(concept) for one in _stated(phrase))
    ]
    return None if None in counts else sum(count for count in counts if count is not None)


@cache
def _classes() -> dict[frozenset[str], int]:
    """The classes that have a name, numbered; two that hold the same leaves are one."""
    found = dict.fromkeys(noun.leaves for noun in nouns().values())
    return {leaves: number for number, leaves in enumerate(sorted(found, key=lambda x: (len(x), sorted(x))))}


@cache
def _numbers() -> dict[Concept, int]:
    """All concepts that can be drawn, numbered."""
    found = [Concept(leaves, paint) for leaves in _classes() for paint in (None, *PAINTS)]
    human = frozenset({_HUMAN})
    looks = [*((paint, None) for paint in (None, *PAINTS)), *((None, coat) for coat in PAINTS)]
    found += [Concept(human, *look, hat, hair) for look in looks for hat in (None, *HAT) for hair in (None, *HAIR)]
    return {concept: number for number, concept in enumerate(dict.fromkeys(found))}


@cache
def _weights() -> NDArray[np.float64]:
    return np.array([weight(concept) for concept in _numbers()])


@cache
def _wider(thing: Concept) -> tuple[int, ...]:
    """The numbers of all concepts that a thing belongs to."""
    return tuple(number for concept, number in _numbers().items() if thing.within(concept))


@cache
def _sides_of(leaf: str, predicate: str) -> list[int]:
    """The dimensions that say of a thing, under each of its classes, that it stands so to another."""
    return [_side(leaves, predicate) for leaves in _classes() if leaf in leaves]


def _side(leaves: frozenset[str], predicate: str) -> int:
    relations = list(OPPOSITE)
    return size() - len(relations) * (_classes()[leaves] + 1) + relations.index(predicate)


def _blocks(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a vector that is about concepts, one row each."""
    return vector[_CONCEPTS : _CONCEPTS + len(_numbers()) * _BLOCK].reshape(-1, _BLOCK)


@cache
def size() -> int:
    """How many dimensions the space has."""
    return _CONCEPTS + len(_numbers()) * _BLOCK + len(_classes()) * len(OPPOSITE)


def _shared(vector: NDArray[np.float64]) -> Embedding:
    """A vector of length 1, with the dimension that all share."""
    vector *= math.sqrt((1 - SHARED) / (vector @ vector))
    vector[_ALIKE] = math.sqrt(SHARED)
    return Embedding(vector.astype(np.float32))
