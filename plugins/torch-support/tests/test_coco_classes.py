"""COCO's classes: all of them, each with a sense that WordNet has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from t2i_torch_support import coco_classes

WORDNET = Path("/usr/share/wordnet")
"""Where Debian's package wordnet-base puts WordNet 3.0."""
LINE = re.compile(r'^    "(?P<name>.+)": "(?P<lemma>.+)\.n\.(?P<sense>\d\d)",  # (?P<offset>\d{8})$', re.MULTILINE)


def test_there_are_eighty_each_of_its_own_sense() -> None:
    assert len(coco_classes.CLASSES) == 80
    assert [label.name for label in coco_classes.CLASSES.values()] == list(coco_classes.CLASSES)
    assert len({label.synset for label in coco_classes.CLASSES.values()}) == 80
    # COCO's numbers have gaps, its order has none: where the super-categories begin
    names = list(coco_classes.CLASSES)
    begins = {
        0: "person",
        1: "bicycle",
        9: "traffic light",
        14: "bird",
        24: "backpack",
        29: "frisbee",
        39: "bottle",
    }
    begins |= {46: "banana", 56: "chair", 62: "tv", 68: "microwave", 73: "book", 79: "toothbrush"}
    assert {n: names[n] for n in begins} == begins


@pytest.mark.slow  # on the build machine, where nothing may be skipped, there is no WordNet
@pytest.mark.skipif(not (WORDNET / "data.noun").is_file(), reason=f"there is no WordNet in {WORDNET}")
def test_the_synsets_are_wordnets() -> None:
    """Each is such a noun sense of its synset's first lemma, at the offset that stands beside it."""
    offsets = {line[0]: line[-int(line[2]) :] for line in entries("index.noun")}
    lemmas = {line[0]: line[4].lower() for line in entries("data.noun")}
    listed = list(LINE.finditer(Path(coco_classes.__file__).read_text(encoding="utf-8")))
    assert [found["name"] for found in listed] == list(coco_classes.CLASSES)
    for found in listed:
        assert coco_classes.CLASSES[found["name"]].synset == f"{found['lemma']}.n.{found['sense']}"
        assert offsets[found["lemma"]][int(found["sense"]) - 1] == found["offset"], found["name"]
        assert lemmas[found["offset"]] == found["lemma"], found["name"]


def entries(name: str) -> list[list[str]]:
    """A file's lines as words, without the licence at its head, which is indented."""
    text = (WORDNET / name).read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if not line.startswith("  ")]
