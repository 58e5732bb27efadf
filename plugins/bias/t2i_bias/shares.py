"""Groups' shares with their intervals, from the rows of a table."""

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
    """A group's shares.

    group:    its name
    answers:  its categories, in their order
    parts:    the share of each
    """

    group: str
    answers: tuple[str, ...]
    parts: tuple[Estimate, ...]

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.parts)

    @property
    def values(self) -> Floats:
        """The shares."""
        return np.array([part.value for part in self.parts])

    @property
    def lo(self) -> Floats:
        """The lower ends of their intervals."""
        return np.array([part.lo for part in self.parts])

    @property
    def hi(self) -> Floats:
        """The upper ends."""
        return np.array([part.hi for part in self.parts])


LEVEL = 0.95


def joint(categories: int) -> float:
    """The level at which all shares of a group lie in their intervals together, 95 times in 100 at least.

    Bonferroni's; of two categories one share is the other's rest, so that both hold or neither.
    """
    return LEVEL if categories == 2 else 1 - (1 - LEVEL) / categories


def estimated(table: pd.DataFrame, measure: str, mean: MeanOf, together: bool) -> list[Shares]:
    """The shares of each group, from the rows of one measure (`vote-share`, `image-share`).

    together: whether their intervals hold jointly, as those must that a spread's follows from; else each by itself
    """
    rows = table[table["measure"] == measure]
    groups = rows.groupby("group", observed=True, sort=False)
    return [_shares(str(name), own, mean, together) for name, own in groups]


def _shares(name: str, rows: pd.DataFrame, mean: MeanOf, together: bool) -> Shares:
    by_answer = {
        str(answer).removeprefix(f"{name}: "): own
        for answer, own in rows.groupby("answer", observed=True, sort=False)
    }
    level = joint(len(by_answer)) if together else LEVEL
    return Shares(name, tuple(by_answer), tuple(mean(own, level) for own in by_answer.values()))
