"""Groups' shares with their intervals, from the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .spread import Floats

if TYPE_CHECKING:
    from t2i_core.metrics import MeanOf
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


def estimated(table: pd.DataFrame, measure: str, mean: MeanOf) -> list[Shares]:
    """The shares of each group, from the rows of one measure (`vote-share`, `image-share`)."""
    rows = table[table["measure"] == measure]
    return [_shares(str(name), own, mean) for name, own in rows.groupby("group", observed=True, sort=False)]


def _shares(name: str, rows: pd.DataFrame, mean: MeanOf) -> Shares:
    parts = {
        str(answer).removeprefix(f"{name}: "): mean(own)
        for answer, own in rows.groupby("answer", observed=True, sort=False)
    }
    return Shares(name, tuple(parts), tuple(parts.values()))
