"""Warnings about texts that exceed a model's maximum length."""

from __future__ import annotations

import logging
from textwrap import shorten

_SHOWN = 5
"""Number of truncated texts that warnings show."""
_CHARACTERS = 60
"""Number of characters shown of each."""

_log = logging.getLogger(__name__)


class TruncationLog:
    """Tells which texts a model truncates, and warns about the first few."""

    def __init__(self, limit: int) -> None:
        """Create a log.

        Args:
            limit: Number of tokens that the model reads.
        """
        self._limit = limit
        self._shown: set[str] = set()

    def check_length(self, text: str, length: int) -> int | None:
        """Return the number of tokens read if a text of `length` tokens is truncated; otherwise None."""
        if length <= self._limit:
            return None
        if text not in self._shown and len(self._shown) < _SHOWN:
            self._shown.add(text)
            more = "; further texts are not shown" if len(self._shown) == _SHOWN else ""
            short = shorten(text, _CHARACTERS, placeholder="...")
            _log.warning(
                "a text of %d tokens is truncated to the model's %d: %r%s", length, self._limit, short, more
            )
        return self._limit
