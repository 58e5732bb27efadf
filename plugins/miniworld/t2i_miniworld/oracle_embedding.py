"""The ideal embedding of pictures and texts: the cosine measures how far a text is true of a picture.

The space consists of *concepts*: every class with a name, with or without one of the eight paints, and for humans
also by coat, hat and hair. A picture counts its things under every concept that they belong to: a red retriever
is a retriever, a dog, an animal, a red dog, and so on. A text (parsed by `phrases`) has the concepts that it
names, with their counts. A concept has five dimensions: the first encodes that there are such things, the others
that there are one, two, three or four. Four more dimensions for each class encode that one of its things is left
of, right of, above or below another. Anything that cannot be drawn (a dog with a hat) has a dimension that no
picture uses.

The cosine of a picture with N things and a text that names, for each of its concepts, m things of which the
picture has n, is

    SHARED + (1 - SHARED) * (sum of value * sqrt(m * n) + true sides) / sqrt((sum of m + sides) * N * length()),

where m is 1 if the text leaves the number open, and a side is one end of a relation that the text states. The
value is the concept's `weight` (1 for entity, and up to 1.25 for rarer concepts) if m equals n, .71 of it if the
number is open or above four, and half of it if m differs from n. It follows that

- a true text (with the right number of everything that it names) has a higher cosine than the same text with a
  wrong class, paint, number, attribute or relation;
- of two true texts, the more specific one has the higher cosine: retriever before dog before animal, and a red dog
  before a dog;
- a text about one thing has the cosine SHARED + (1 - SHARED) * weight / sqrt(length()) with every picture of one
  thing of which it is true, and SHARED with a picture of which nothing in the text is true.

The first dimension is the same in every picture and text, because CLIP's cosines are also far above 0 for any
photo and caption. The second, which texts do not use, gives all pictures of N things the same length. So a picture
without things has the cosine SHARED with every text.
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

#: Cosine of a text with a picture of which nothing in the text is true.
SHARED = 0.1

_HUMAN = SYNSETS["human"]
#: Dimensions of a concept: whether there are such things, and whether there are one, two, three or four.
_BLOCK = 5
#: Values of these dimensions for none, one, two, three and four things, and for an open or larger number.
_ONE = np.eye(_BLOCK)
_COUNTED = np.vstack([0 * _ONE[0], _ONE[0] + _ONE[1:], _ONE[0]]) / math.sqrt(2)
_OPEN = len(_COUNTED) - 1
_ALIKE, _REST, _NEVER, _CONCEPTS = 0, 1, 2, 3


@dataclass(frozen=True)
class Concept:
    """Things of a class (``leaves``) with a certain look; None for any look."""

    leaves: frozenset[str]
    paint: str | None = None
    coat: str | None = None
    hat: str | None = None
    hair: str | None = None

    def within(self, wider: Concept) -> bool:
        """Return whether such things exist and all of them belong to the ``wider`` concept."""
        return (
            bool(self.leaves)
            and self.leaves <= wider.leaves
            and wider.paint in (None, self.paint)
            and wider.coat in (None, self.coat or self.paint)
            and wider.hat in (None, self.hat)
            and wider.hair in (None, self.hair)
        )


def embed_image(shown: Truth) -> Embedding:
    """Embed a picture: the concepts of its things and the relations between them."""
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
    """Embed a text: the concepts that it names. A text that names nothing in the mini world is a failure."""
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
    """Return the weight of a concept, from 1 for all things to 1.25 for the rarest concept.

    It is linear in the logarithm of the concept's share of a world in which leaves, looks (natural or one of the
    paints), coats, hats and hair are uniformly distributed.
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
    """Return a picture's squared length per thing, without the shared part: the maximum that one thing needs."""
    paint = next(iter(PAINTS))
    concepts = max(
        (_weights()[list(_wider(Concept(frozenset({leaf}), *look, HAT[0], HAIR[0])))] ** 2).sum()
        for leaf, look in product(LEAVES, ((paint, None), (None, paint)))
    )
    return float(concepts) + len(OPPOSITE) * max(len(_sides_of(leaf, "left")) for leaf in LEAVES)


def _thing(instance: Instance) -> Concept:
    """Return the narrowest concept of a drawn thing."""
    worn = {name: instance.attributes.get(name) for name in ("coat", "hat", "hair")}
    return _canonical(Concept(frozenset({leaf_of(instance)}), instance.colour, **worn))


def _stated(phrase: Phrase) -> list[Concept]:
    """Return the concepts of a phrase: one, or one for each of several paints."""
    return [_canonical(Concept(phrase.leaves, paint, **phrase.worn)) for paint in phrase.paints or (None,)]


def _canonical(concept: Concept) -> Concept:
    """Return a concept without a redundant coat: a painted human always wears a coat of that paint."""
    return replace(concept, coat=None) if concept.paint == concept.coat else concept


def _count(concept: Concept, phrases: tuple[Phrase, ...]) -> int | None:
    """Return the number of a text's things that belong to a concept; None if the text leaves it open."""
    counts = [
        phrase.count for phrase in phrases if any(one == concept or one.within(concept) for one in _stated(phrase))
    ]
    return None if None in counts else sum(count for count in counts if count is not None)


@cache
def _classes() -> dict[frozenset[str], int]:
    """Number the classes with a name; classes with the same leaves share a number."""
    found = dict.fromkeys(noun.leaves for noun in nouns().values())
    return {leaves: number for number, leaves in enumerate(sorted(found, key=lambda x: (len(x), sorted(x))))}


@cache
def _numbers() -> dict[Concept, int]:
    """Number all concepts that can be drawn."""
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
    """Return the numbers of all concepts that a thing belongs to."""
    return tuple(number for concept, number in _numbers().items() if thing.within(concept))


@cache
def _sides_of(leaf: str, predicate: str) -> list[int]:
    """Return the dimensions, one for each class of a thing, for this relation of the thing to another."""
    return [_side(leaves, predicate) for leaves in _classes() if leaf in leaves]


def _side(leaves: frozenset[str], predicate: str) -> int:
    relations = list(OPPOSITE)
    return size() - len(relations) * (_classes()[leaves] + 1) + relations.index(predicate)


def _blocks(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of a vector for concepts, with one row for each."""
    return vector[_CONCEPTS : _CONCEPTS + len(_numbers()) * _BLOCK].reshape(-1, _BLOCK)


@cache
def size() -> int:
    """Return the number of dimensions of the space."""
    return _CONCEPTS + len(_numbers()) * _BLOCK + len(_classes()) * len(OPPOSITE)


def _shared(vector: NDArray[np.float64]) -> Embedding:
    """Return a vector of length 1 with the shared dimension added."""
    vector *= math.sqrt((1 - SHARED) / (vector @ vector))
    vector[_ALIKE] = math.sqrt(SHARED)
    return Embedding(vector.astype(np.float32))
