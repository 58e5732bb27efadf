"""Estimates as numbers of typed results."""

from __future__ import annotations

import math
from typing import Protocol


class WithEnds(Protocol):
    """An estimate with the ends of its confidence interval."""

    @property
    def lo(self) -> float:
        """The lower end."""
        ...

    @property
    def hi(self) -> float:
        """The upper end."""
        ...


def make_number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN: a value that does not exist becomes null."""
    return float(value) if math.isfinite(value) else None


def make_interval(found: WithEnds) -> list[float | None]:
    """Return the ends of an interval."""
    return [make_number(found.lo), make_number(found.hi)]
