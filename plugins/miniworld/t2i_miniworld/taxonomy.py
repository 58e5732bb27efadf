"""Classes above the mini world's leaves: its part of WordNet 3.0, written by `make_taxonomy`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from t2i_core.api.prompt import ObjectClass

from t2i_miniworld.vocabulary import LABELS, LEAF_LABELS, LEAVES

FILE = Path(__file__).parent / "data" / "taxonomy.json"


@cache
def ancestors() -> dict[str, frozenset[str]]:
    """Return all synsets above each leaf, without the leaf."""
    return {leaf: frozenset(above) for leaf, above in json.loads(FILE.read_text()).items()}


@cache
def leaves_under(cls: ObjectClass) -> tuple[str, ...]:
    """Return the leaves of this class, in the vocabulary's order: itself, its hyponyms, or none."""
    synset = synset_of(cls)
    return tuple(leaf for leaf in LEAVES if leaf == synset or synset in ancestors()[leaf])


def synset_of(cls: ObjectClass) -> str | None:
    """Return the synset of a class. A class without one gets it by its name, if that is a kind or a leaf."""
    return cls.synset or next((label.synset for label in (*LABELS, *LEAF_LABELS) if label.name == cls.name), None)
