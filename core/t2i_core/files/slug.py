"""Names for files and folders, derived from any text."""

from __future__ import annotations

import re

_LONGEST = 60
"""Longest name in characters. Two names and a digest still fit a folder's name on every file system."""


def make_slug(text: str) -> str:
    """Turn any text into a short name that every file system takes; a long one ends where a word does."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
    if len(name) > _LONGEST:
        end = name.rfind("-", _LONGEST // 2, _LONGEST + 1)
        name = name[: end if end > 0 else _LONGEST].rstrip("-.")
    return name or "model"
