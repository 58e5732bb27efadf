"""Comparison of a scene with what a picture shows."""

from __future__ import annotations

from collections.abc import Sequence

from t2i_core.api import Instance, Relation, Scene, SceneObject

from t2i_miniworld.annotations import leaf_of, relation_of
from t2i_miniworld.taxonomy import leaves_under


def find_share(asked: Scene, shown: Sequence[Instance]) -> float:
    """Return the share of the things and relations of a scene that a picture shows, from 0 to 1.

    Each drawn thing is matched with at most one thing of the scene; the best matching counts. Things that are not
    in the scene have no effect.
    """
    wanted = [number for number, one in enumerate(asked.objects) for _ in range(one.count)]
    return _find_best(asked, wanted, shown, {}) / (len(wanted) + len(asked.relations))


def fits(instance: Instance, wanted: SceneObject) -> bool:
    """Return whether a drawn thing matches a requested one in class, colour and attributes."""
    return (
        (leaf_of(instance) in leaves_under(wanted.cls) or instance.cls.same_as(wanted.cls))
        and wanted.colour in (None, instance.colour)
        and all(instance.attributes.get(name) == value for name, value in wanted.attributes.items())
    )


def _find_best(asked: Scene, wanted: Sequence[int], left: Sequence[Instance], taken: dict[int, Instance]) -> int:
    """Return the best score of matching the requested things ``wanted`` with the drawn things ``left``."""
    if not wanted:
        return sum(_holds(relation, taken) for relation in asked.relations)
    # either unmatched, or matched with each of the fitting things in turn
    first, rest = wanted[0], wanted[1:]
    best = _find_best(asked, rest, left, taken)
    for number, instance in enumerate(left):
        if fits(instance, asked.objects[first]):
            others = [*left[:number], *left[number + 1 :]]
            best = max(best, 1 + _find_best(asked, rest, others, {**taken, first: instance}))
    return best


def _holds(relation: Relation, taken: dict[int, Instance]) -> bool:
    subject, object_ = taken.get(relation.subject), taken.get(relation.object)
    return subject is not None and object_ is not None and relation_of(subject, object_) == relation.predicate
