"""Kinds of things in the mini world, by name, and their bodies."""

from __future__ import annotations

from functools import cache

from t2i_miniworld.kinds import animals, household, people, street, vehicles
from t2i_miniworld.kinds.kind import Kind
from t2i_miniworld.shapes.mesh import MeshModel
from t2i_miniworld.streams import stream
from t2i_miniworld.vocabulary import SYNSETS

#: Number of variants of each form, with different proportions and stances.
VARIANTS = 5

_KINDS = {kind.name: kind for family in (people, animals, vehicles, street, household) for kind in family.KINDS}

#: Every kind, in the vocabulary's order.
KINDS: dict[str, Kind] = {name: _KINDS[name] for name in SYNSETS if name in _KINDS}


@cache
def model(kind: str, form: str, variant: int) -> MeshModel:
    """Return one variant of one form. It is the same in every process, and cached."""
    return KINDS[kind].build(form, stream("shape", kind, form, variant))
