"""WordNet 3.0's nouns and verbs and the lists of synsets in this package, which `make_data` creates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from .taxonomy import Taxonomy

DATA = Path(__file__).parent / "data"
NOUNS = DATA / "nouns.npz"
VERBS = DATA / "verbs.npz"
EXCEPTIONS = DATA / "noun-exceptions.txt"
IMAGENET = DATA / "imagenet-1k.txt"
MINI = DATA / "mini-world.txt"


@cache
def nouns() -> Taxonomy:
    """Return WordNet 3.0's 82,115 noun synsets with their hypernyms; instances of classes have no hypernyms."""
    return _load(NOUNS)


@cache
def verbs() -> Taxonomy:
    """Return WordNet 3.0's 13,767 verb synsets with their hypernyms."""
    return _load(VERBS)


@cache
def wordnet() -> Taxonomy:
    """Return the nouns followed by the verbs, which have no edges between them."""
    first, second = nouns(), verbs()
    return Taxonomy(
        (*first.names, *second.names),
        np.concatenate((first.starts, second.starts[1:] + first.starts[-1])),
        np.concatenate((first.parents, second.parents + len(first))),
        (*first.lemma_lines, *second.lemma_lines),
        (*first.definitions, *second.definitions),
    )


def _load(path: Path) -> Taxonomy:
    with np.load(path) as data:
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
