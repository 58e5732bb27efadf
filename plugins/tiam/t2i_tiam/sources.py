"""Prompt sources of the paper's study."""

from __future__ import annotations

from .labels import COLOURS_6, LABELS_5, LABELS_24, LABELS_28
from .templates import Template, TemplatePosition

SENTENCES = {
    1: "a photo of {1}",
    2: "a photo of {1} and {2}",
    3: "a photo of {1} next to {2} and {3}",
    4: "a photo of {1} next to {2} with {3} and {4}",
}
"""Sentences by number of objects, without commas; `tiam-5-3-comma` is the paper's ablation with a comma."""


def _repeat(count: int, position: TemplatePosition) -> Template:
    return Template(template=SENTENCES[count], positions=(position,) * count)


_FIVE = TemplatePosition(objects=LABELS_5)
_FIVE_COLOURED = TemplatePosition(objects=LABELS_5, colours=COLOURS_6)

TEMPLATES: dict[str, tuple[str, Template]] = {
    "tiam-24-1": ("One of 24 objects: 24 prompts.", _repeat(1, TemplatePosition(objects=LABELS_24))),
    "tiam-24-2": ("Two of 24 objects: 552 prompts.", _repeat(2, TemplatePosition(objects=LABELS_24))),
    "tiam-28": (
        "Two of 28 vehicles, animals and foods: 756 prompts.",
        _repeat(2, TemplatePosition(objects=LABELS_28)),
    ),
    "tiam-5-1": ("One of five objects: 5 prompts.", _repeat(1, _FIVE)),
    "tiam-5-2": ("Two of five objects: 20 prompts.", _repeat(2, _FIVE)),
    "tiam-5-3": ("Three of five objects: 60 prompts.", _repeat(3, _FIVE)),
    "tiam-5-4": ("Four of five objects: 120 prompts.", _repeat(4, _FIVE)),
    "tiam-5-3-comma": (
        "Three of five objects, listed with a comma: 60 prompts.",
        Template(template="a photo of {1}, {2} and {3}", positions=(_FIVE,) * 3, id_suffix="-comma"),
    ),
    "tiam-color-1": ("One of five objects in one of six colours: 30 prompts.", _repeat(1, _FIVE_COLOURED)),
    "tiam-color-2": ("Two of five objects in two of six colours: 600 prompts.", _repeat(2, _FIVE_COLOURED)),
}
"""Summary and template of each prompt source, by name."""
