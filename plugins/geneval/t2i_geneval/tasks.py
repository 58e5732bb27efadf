"""The six tasks, and the task of a prompt."""

from __future__ import annotations

from typing import get_args

from t2i_core.api.prompt import Prompt, Scene
from t2i_torch_support.geneval_records import COUNTING

from .options import Task

SINGLE, TWO, COLORS, POSITION, COLOR_ATTR = "single_object", "two_object", "colors", "position", "color_attr"
TASKS: tuple[str, ...] = get_args(Task)
"""GenEval's tags, in its order."""
TAG = "tag"
"""The facet of a prompt with its task."""


def find_task(prompt: Prompt, scene: Scene) -> str:
    """Return the task of a prompt: that of its facet `tag`, or the one that its scene fits.

    A prompt with several colours and relations belongs to the most specific task.
    """
    tag = prompt.facets.get(TAG)
    if tag in TASKS:
        return str(tag)
    if scene.relations:
        return POSITION
    coloured = sum(each.colour is not None for each in scene.objects)
    if coloured:
        return COLOR_ATTR if len(scene.objects) > 1 else COLORS
    if any(each.count > 1 for each in scene.objects):
        return COUNTING
    return TWO if len(scene.objects) > 1 else SINGLE
