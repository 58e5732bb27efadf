"""The picture at the top of a page: one of the most frequent mistakes, of a level at which a model is weakest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ..words.weak_spots import WeakSpot
from .mistakes import MistakeExample, MistakeGroup


@dataclass(frozen=True)
class TypicalMistake:
    """A picture with a wrong value.

    Attributes:
        metric: Title of the metric.
        because: Why the value is wrong.
        example: The picture.
    """

    metric: str
    because: str
    example: MistakeExample


def choose_example(
    mistakes: Mapping[str, Sequence[MistakeGroup]],
    spots: Sequence[WeakSpot],
    tables: Sequence[pd.DataFrame],
    read: Callable[[int], str] = str,
) -> TypicalMistake | None:
    """Return a picture with a reason, of a level at which its model is weakest if there is one.

    Args:
        mistakes: The mistakes by metric, the most frequent first.
        spots: The weak spots, with titles and models as the gallery has them. One that is clear, or has a narrow
            interval, is tried first.
        tables: The measurements of the runs, as the gallery has them.
        read: Returns a picture of the gallery, or nothing if it cannot be read; then another one is preferred.
    """
    found = [
        TypicalMistake(metric, example.because or " ".join(text for text, _ in group.words), example)
        for metric, groups in mistakes.items()
        for group in groups
        for own in group.models
        for example in own.examples
        if example.image.picture is not None
    ]
    explained = [each for each in found if each.example.because] or found
    spots = sorted(spots, key=lambda spot: (not spot.is_clear, spot.width))
    of_spots = [
        (spot.model, each)
        for spot in spots
        for prompts in (_list_prompts(spot, tables),)
        for each in explained
        if each.metric == spot.metric and each.example.image.prompt_key in prompts
    ]
    of_models = [each for model, each in of_spots if each.example.image.model == model]
    ordered = [*of_models, *(each for _, each in of_spots), *explained]
    return next((each for each in ordered if read(each.example.place)), next(iter(ordered), None))


def _list_prompts(spot: WeakSpot, tables: Sequence[pd.DataFrame]) -> set[str]:
    """Return the prompts of a level, as `ShownImage.prompt_key` has them."""
    level = spot.level
    prompts: set[str] = set()
    for table in tables:
        if not len(table) or (level.facet and level.facet not in table):
            continue
        rows = (table["title"] == spot.metric) & (table["measure"] == level.measure)
        if level.facet:
            rows &= table[level.facet].astype(str) == level.level
        prompts |= set(table.loc[rows, "prompt"])
    return prompts
