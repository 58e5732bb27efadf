"""Shares of each group's categories with their intervals, from the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .spread import Floats

if TYPE_CHECKING:
    from t2i_core.api.metric import MeanOf
    from t2i_core.statistics import Estimate


@dataclass(frozen=True)
class Shares:
    """Shares of a group's categories.

    Attributes:
        group: Name of the group.
        answers: Names of the categories, in order.
        parts: Share of each category.
    """

    group: str
    answers: tuple[str, ...]
    parts: tuple[Estimate, ...]

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.parts)

    @property
    def values(self) -> Floats:
        """The values of the shares, shape (categories,)."""
        return np.array([part.value for part in self.parts])

    @property
    def lo(self) -> Floats:
        """The lower ends of the intervals, shape (categories,)."""
        return np.array([part.lo for part in self.parts])

    @property
    def hi(self) -> Floats:
        """The upper ends of the intervals, shape (categories,)."""
        return np.array([part.hi for part in self.parts])


LEVEL = 0.95


def joint_level(categories: int) -> float:
    """Return the level of single intervals at which all shares of a group are covered jointly with 95 %.

    The correction is Bonferroni's. Two categories need none, because one share determines the other.
    """
    return LEVEL if categories == 2 else 1 - (1 - LEVEL) / categories


def estimate_shares(table: pd.DataFrame, measure: str, mean: MeanOf, together: bool) -> list[Shares]:
    """Return the shares of each group, from the rows of one measure.

    Args:
        table: Rows of the metric.
        measure: `vote-share` or `image-share`.
        mean: Forms the interval of a mean.
        together: Whether the intervals of a group hold jointly, which the interval of a spread needs; otherwise
            each holds by itself.
    """
    rows = table[table["measure"] == measure]
    groups = rows.groupby("group", observed=True, sort=False)
    return [_shares(str(name), own, mean, together) for name, own in groups]


def _shares(name: str, rows: pd.DataFrame, mean: MeanOf, together: bool) -> Shares:
    by_answer = {
        str(answer).removeprefix(f"{name}: "): own
        for answer, own in rows.groupby("answer", observed=True, sort=False)
    }
    level = joint_level(len(by_answer)) if together else LEVEL
    return Shares(name, tuple(by_answer), tuple(mean(own, level) for own in by_answer.values()))
