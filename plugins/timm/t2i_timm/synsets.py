"""ImageNet classes as WordNet synsets, from timm's lists. Reads text files without importing timm or torch.

timm lists a class by its wnid, which is `n` and the offset of its synset in WordNet 3.0's `data.noun`, with the
synset's lemmas. The name in NLTK and in this project, crane.n.05, also needs the number of the sense; the file
`data/senses.txt` from `make_senses` holds the numbers other than 1. Synsets are unique but names are not (crane is
a bird and a machine), so classes are compared by synset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from t2i_core.api import ObjectClass

#: timm's lists by the names that timm.data.ImageNetInfo gives them.
LISTS = {
    "imagenet-1k": "imagenet_synsets.txt",
    "imagenet-12k": "imagenet12k_synsets.txt",
    "imagenet-21k-goog": "imagenet21k_goog_synsets.txt",
    "imagenet-21k-miil": "imagenet21k_miil_synsets.txt",
    "imagenet-22k": "imagenet22k_synsets.txt",
    "imagenet-22k-ms": "imagenet22k_ms_synsets.txt",
}
SENSES = Path(__file__).parent / "data" / "senses.txt"
_WNID = re.compile(r"n\d{8}")
_SYNSET = re.compile(r"\S+\.n\.\d\d")


@cache
def labels(name: str) -> tuple[ObjectClass, ...]:
    """Return the classes of one of timm's lists, in the order of a classifier's outputs."""
    return tuple(make_class(wnid) for wnid in wnids(name))


@cache
def find_list(count: int) -> str | None:
    """Return the name of the list with a number of classes, as timm infers it, or None."""
    return next((name for name in LISTS if len(wnids(name)) == count), None)


def classes(names: Iterable[str]) -> tuple[ObjectClass, ...]:
    """Return the classes of a checkpoint that names them by wnid, by synset, or by any word."""
    return tuple(_class(name) for name in names)


def make_class(wnid: str) -> ObjectClass:
    """Return the class of a wnid. Raises KeyError if timm does not list it."""
    lemma = _lemmas()[wnid]
    sense = _senses().get(wnid, 1)
    return ObjectClass(lemma, f"{lemma.lower().replace(' ', '_')}.n.{sense:02d}")


@cache
def wnids(name: str) -> tuple[str, ...]:
    """Return the wnids of one of timm's lists."""
    return tuple(_read(LISTS[name]).split())


def _class(name: str) -> ObjectClass:
    if _WNID.fullmatch(name) and name in _lemmas():
        return make_class(name)
    if _SYNSET.fullmatch(name):
        return ObjectClass(name.rsplit(".", 2)[0].replace("_", " "), name)
    return ObjectClass(name)


@cache
def _lemmas() -> dict[str, str]:
    """Return the first lemma of each synset by wnid."""
    rows = (line.split("\t") for line in _read("imagenet_synset_to_lemma.txt").splitlines())
    return {wnid: lemmas.split(", ")[0] for wnid, lemmas in rows}


@cache
def _senses() -> dict[str, int]:
    return {wnid: int(sense) for wnid, sense in map(str.split, SENSES.read_text().splitlines())}


def _read(file: str) -> str:
    spec = find_spec("timm")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'timm'", name="timm")
    return (Path(spec.origin).parent / "data" / "_info" / file).read_text(encoding="utf-8")
