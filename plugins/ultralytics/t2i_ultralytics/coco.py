"""The classes of a checkpoint: COCO's 80 in the order of YOLO's checkpoints, or its own."""

from __future__ import annotations

from t2i_core.api import ObjectClass
from t2i_torch_support.coco_classes import CLASSES

LABELS = tuple(CLASSES.values())
"""COCO's classes in order."""


def classes(names: tuple[str, ...]) -> tuple[ObjectClass, ...]:
    """Return the classes of a checkpoint: COCO's, or classes with only a name and no synset."""
    return LABELS if names == tuple(CLASSES) else tuple(ObjectClass(name) for name in names)
