"""Facets with several levels: a prompt that belongs to two subsets counts in each of them.

The value of such a facet is one text, its levels separated by `LEVEL_SEPARATOR` (`easy | hypernymy`), in prompts,
in files and in the measurement table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

LEVEL_SEPARATOR = " | "
"""Stands between the levels of a facet that has several."""

Level = str | int | float


def split_levels(value: Level) -> tuple[Level, ...]:
    """Return the levels of a facet's value, each once; a number is one level."""
    if not isinstance(value, str) or LEVEL_SEPARATOR not in value:
        return (value,)
    return tuple(dict.fromkeys(value.split(LEVEL_SEPARATOR)))


def join_levels(values: Iterable[str]) -> str:
    """Return the value of a facet that has all levels of several values, each once, in order of appearance."""
    return LEVEL_SEPARATOR.join(dict.fromkeys(str(level) for value in values for level in split_levels(value)))


def locate_levels(column: pd.Series) -> dict[Level, NDArray[np.intp]]:
    """Return the rows of each level of a facet; a row that has several levels counts in each of them.

    Args:
        column: The facet's column of a table, shape (rows,); rows without a value are in no level.

    Returns:
        Ascending positions of the level's rows, by level in order of appearance.

    Example:
        >>> table = pd.DataFrame({"subset": ["easy", "easy | mixing", "mixing"], "value": [1.0, 0.0, 0.5]})
        >>> {level: table["value"].iloc[rows].mean() for level, rows in locate_levels(table["subset"]).items()}
        {'easy': 0.5, 'mixing': 0.25}
    """
    positions = column.groupby(column, observed=True, sort=False).indices
    found: dict[Level, list[NDArray[np.intp]]] = {}
    for value in column.dropna().unique():
        for level in split_levels(value):
            found.setdefault(level, []).append(np.asarray(positions[value], np.intp))
    return {level: np.sort(np.concatenate(parts)) for level, parts in found.items()}
