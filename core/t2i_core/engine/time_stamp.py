"""The time, as records of runs have it."""

from __future__ import annotations

from datetime import UTC, datetime


def get_time() -> str:
    """Return the time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
