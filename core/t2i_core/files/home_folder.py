"""Paths that begin with `~`, which shells leave alone in quotes and after `=` and `:`."""

from __future__ import annotations

import os
from pathlib import Path


def expand_home(path: str) -> str:
    """Return a path with the home folder in place of `~` or `~user`; unchanged if there is no such user."""
    return os.path.expanduser(path)  # noqa: PTH111  # Path.expanduser raises if there is no such user


def expand_path(path: Path) -> Path:
    """Return a path as `expand_home` does."""
    return Path(expand_home(str(path)))
