"""Truth of a parsed text about a picture, and the parsed text of an expected scene."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

from t2i_core.api import Instance, Scene

from t2i_miniworld.annotations import leaf_of, relation_of
from t2i_miniworld.phrases import OPPOSITE, Phrase, Reading, SideRelation
from t2i_miniworld.taxonomy import leaves_under


def reading_of(scene: Scene) -> Reading:
    """Return the reading of a text that describes exactly this scene."""
    phrases = [
        Phrase(
            frozenset(leaves_under(one.cls)), one.count, (one.colour,) if one.colour else (), dict(one.attributes)
        )
        for one in scene.objects
    ]
    sides = []
    for relation in scene.relations:
        subject, object_ = phrases[relation.subject].leaves, phrases[relation.object].leaves
        sides += [SideRelation(subject, relation.predicate), SideRelation(object_, OPPOSITE[relation.predicate])]
    return Reading(tuple(phrases), tuple(sides))


def holds(reading: Reading, shown: Sequence[Instance]) -> bool:
    """Return whether a text is true of a picture with these things, four at most.

    The numbers must be exact. Things that the text does not mention may be there too.
    """
    fits = [[_is(one, phrase) for phrase in reading.phrases] for one in shown]
    nobody = len(reading.phrases)
    return any(
        all(_enough(phrase, told.count(number)) for number, phrase in enumerate(reading.phrases))
        for told in product(*([number for number, fit in enumerate(row) if fit] or [nobody] for row in fits))
    ) and all(_stand(reading.sides[at], reading.sides[at + 1], shown) for at in range(0, len(reading.sides), 2))


def list_fitting(phrase: Phrase, shown: Sequence[Instance]) -> list[Instance]:
    """Return the things of a picture that a phrase names, whatever number it gives."""
    return [one for one in shown if _is(one, phrase)]


def _is(one: Instance, phrase: Phrase) -> bool:
    return (
        leaf_of(one) in phrase.leaves
        and all(one.colour == paint for paint in phrase.paints)
        and all(one.attributes.get(name) == value for name, value in phrase.worn.items())
    )


def _enough(phrase: Phrase, found: int) -> bool:
    return found == phrase.count if phrase.count is not None else found > 0


def _stand(subject: SideRelation, object_: SideRelation, shown: Sequence[Instance]) -> bool:
    return any(
        leaf_of(one) in subject.leaves
        and leaf_of(other) in object_.leaves
        and relation_of(one, other) == subject.predicate
        for one, other in permutations(shown, 2)
    )
