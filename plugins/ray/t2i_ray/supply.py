"""The items of one component's work: those that come, and those that must be asked again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

LAST_DEATH = 3
"""Number of workers that an item may end, each while it worked on that item alone, before the item has failed."""


@dataclass
class Suspect:
    """An item that was open when a worker died, which is asked again alone.

    Attributes:
        item: The item.
        deaths: Number of workers that died while they worked on it alone.
    """

    item: Any
    deaths: int = 0


class Supply:
    """Takes items from the caller, as few ahead as are needed to know how near the end is.

    Args:
        items: The items.

    Attributes:
        suspects: Items that must be asked alone.
        error: The error that ended the items; None if they ended by themselves or go on.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._waiting: deque[Any] = deque()
        self._is_exhausted = False
        self.suspects: deque[Suspect] = deque()
        self.error: Exception | None = None

    def look_ahead(self, count: int) -> int | None:
        """Have at least `count` items wait, if there are as many.

        Returns:
            The number of items that are left; None if more may come.
        """
        missing = count - len(self._waiting)
        if missing > 0 and not self._is_exhausted:
            try:
                before = len(self._waiting)
                self._waiting.extend(islice(self._items, missing))
                self._is_exhausted = len(self._waiting) - before < missing
            except Exception as error:  # raised when the items before it are done
                self.error, self._is_exhausted = error, True
        return len(self._waiting) if self._is_exhausted else None

    def take(self, count: int) -> list[Any]:
        """Return up to `count` items."""
        return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    def put_back(self, items: Sequence[Any]) -> None:
        """Have items asked again."""
        self._waiting.extendleft(reversed(items))

    def suspect(self, items: Iterable[Any]) -> None:
        """Have items asked again, each alone, because one of them may have ended a worker."""
        self.suspects.extend(map(Suspect, items))

    @property
    def is_empty(self) -> bool:
        """True if nothing is left to ask."""
        return self._is_exhausted and not self._waiting and not self.suspects
