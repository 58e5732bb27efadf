"""Names of classes in annotations of other programs, as classes that metrics know by their synsets."""

from __future__ import annotations

import re

from t2i_core.api import ObjectClass
from t2i_torch_support.coco_classes import CLASSES

OTHERS = {"human": "person.n.01", "bike": "bicycle.n.01", "van": "van.n.05"}
"""PaintSkills' names that are not COCO's, with their WordNet 3.0 synsets."""


def read_class(name: str, synset: str | None = None) -> ObjectClass:
    """Return the class of a category.

    Names of COCO and of PaintSkills have synsets, also if their words are joined, as PaintSkills' files have them:
    `fireHydrant` is a fire hydrant. A PaintSkills character (`humanSophie`) is a human.

    Args:
        name: Name of the category.
        synset: Its WordNet synset, if the file has one.

    Returns:
        The class; a name that is not known and has no synset stays as it is.
    """
    if synset is not None:
        return ObjectClass(name, synset)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
    if words.startswith("human "):
        words = "human"
    if words in CLASSES:
        return CLASSES[words]
    return ObjectClass(words, OTHERS[words]) if words in OTHERS else ObjectClass(name)
