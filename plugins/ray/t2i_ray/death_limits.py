"""Limits on the deaths of workers, after which a component is given up."""

from __future__ import annotations

DEATHS_AT_FIRST = 10
"""Number of workers in a row that may die before any has answered."""

DEATHS_IN_A_ROW = 40
"""The same for a plugin that has answered before."""

OPENING_DEATHS = 3
"""Number of times in a row that a worker may die while it creates its component, before any has it."""

LATER_OPENING_DEATHS = 10
"""The same when another worker has created it before."""

SETTINGS_DEATHS = 3
"""Number of workers that may die when they are asked for the component's settings."""


class DeathCounts:
    """The deaths of one component's workers since the last success."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._of_settings = 0
        self._opening: dict[int, int] = {}
        self._has_opened = self._has_answered = False

    def note_answer(self) -> None:
        """Note that a worker has answered."""
        self._has_answered, self._in_a_row = True, 0

    def note_opening(self, number: int) -> None:
        """Note that the worker of a number has created its component."""
        self._has_opened = True
        self._opening.pop(number, None)

    def add(self) -> str | None:
        """Count the death of a worker at work; return in words how many died if they are too many."""
        self._in_a_row += 1
        limit = DEATHS_IN_A_ROW if self._has_answered else DEATHS_AT_FIRST
        return f"its worker died {self._in_a_row} times in a row" if self._in_a_row >= limit else None

    def add_opening(self, number: int) -> str | None:
        """Do the same for a death while the component was created, of the worker of a number."""
        count = self._opening[number] = self._opening.get(number, 0) + 1
        limit = LATER_OPENING_DEATHS if self._has_opened else OPENING_DEATHS
        return f"its worker died {count} times while it loaded" if count >= limit else None

    def add_of_settings(self) -> str | None:
        """Do the same for a death when the worker was asked for the settings."""
        self._of_settings += 1
        if self._of_settings < SETTINGS_DEATHS:
            return None
        return f"its worker died {self._of_settings} times when asked for its settings"
