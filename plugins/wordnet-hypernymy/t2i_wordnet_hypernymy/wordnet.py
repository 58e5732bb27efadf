"""WordNet 3.0's nouns and the lists of synsets in this package, which `make_nouns` creates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from .taxonomy import Taxonomy

DATA = Path(__file__).parent / "data"
NOUNS = DATA / "nouns.npz"
IMAGENET = DATA / "imagenet-1k.txt"
MINI = DATA / "mini-world.txt"


@cache
def nouns() -> Taxonomy:
    """Return WordNet 3.0's 82,115 noun synsets with their hypernyms; instances of classes have no hypernyms."""
    with np.load(NOUNS) as data:
        names, lemmas, definitions = (
            tuple(data[key].tobytes().decode().split("\n")) for key in ("names", "lemmas", "definitions")
        )
        return Taxonomy(names, data["starts"], data["parents"], lemmas, definitions)


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Return the synsets of ImageNet-1k's classes, in the order of a classifier's outputs."""
    return tuple(IMAGENET.read_text().split())


@cache
def mini_world() -> frozenset[str]:
    """Return the synsets of the mini world's objects and all synsets above them."""
    return frozenset(MINI.read_text().split())


@cache
def mini_world_leaves() -> tuple[str, ...]:
    """Return the synsets of the mini world's objects, sorted."""
    above = {parent for synset in mini_world() for parent in nouns().hypernyms(synset)}
    return tuple(sorted(mini_world() - above))
