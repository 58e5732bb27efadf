"""Progress of work, reported without knowing who shows it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Task(Protocol):
    """One stage of work."""

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Report that `count` more items are done, of which `failed` have failed."""
        ...


class Progress(Protocol):
    """Shows stages of work with their rate and the time left."""

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Task]:
        """Open a stage of `total` items; `unit` names them in the plural (`images`)."""
        ...

    def note(self, message: str) -> None:
        """Show a message once."""
        ...


class Silent:
    """Shows nothing, for use from Python and in tests."""

    def task(self, title: str, total: int, unit: str) -> AbstractContextManager[Task]:
        """Open a stage that shows nothing."""
        return nullcontext(self)

    def advance(self, count: int = 1, failed: int = 0) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Say nothing."""
