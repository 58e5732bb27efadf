"""Label sets of the paper's study: COCO classes, each with its WordNet 3.0 noun synset."""

from __future__ import annotations

from t2i_core.api.prompt import ObjectClass
from t2i_torch_support.coco_classes import CLASSES


def _pick(names: str) -> tuple[ObjectClass, ...]:
    return tuple(CLASSES[name] for name in names.split(", "))


LABELS_24 = _pick(
    "bicycle, car, motorcycle, truck, fire hydrant, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, "
    "zebra, giraffe, banana, apple, broccoli, carrot, chair, couch, oven, refrigerator"
)
_MACRO = {
    "vehicles": _pick("bicycle, car, motorcycle, airplane, bus, train, truck, boat"),
    "animals": _pick("bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe"),
    "food": _pick("banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake"),
}
LABELS_28 = tuple(label for group in _MACRO.values() for label in group)
MACRO_CLASSES = {label.name: name for name, group in _MACRO.items() for label in group}
"""Macro-class of each of the 28 labels, by name."""

LABELS_5 = _pick("car, refrigerator, giraffe, elephant, zebra")
LABELS = {label.name: label for label in (*LABELS_24, *LABELS_28)}
"""All labels of the study, by name."""

COLOURS_6 = ("red", "green", "blue", "purple", "pink", "yellow")
