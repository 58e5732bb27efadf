"""Groups that people are sorted by in what others see: the paper's, or a file that the metric bias reads too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from t2i_core.errors import BadOption
from t2i_core.texts import read_text

from .questions import UNKNOWN

PAPER = {"gender": ("male", "female"), "race": ("White", "Black", "Hispanic", "Asian")}
"""DALL-Eval's categories: apparent, few, and seen from the United States."""


def read_groups(which: str) -> dict[str, tuple[str, ...]]:
    """Return categories by group: of `paper`, or of a YAML file with `categories` by group.

    Each category is a name or an object with one. Raises BadOption in one line.
    """
    if which == "paper":
        return dict(PAPER)
    path = Path(which)
    try:
        data = yaml.safe_load(read_text(path, BadOption))
    except yaml.YAMLError as error:
        raise BadOption(f"{path}: not YAML ({' '.join(str(error).split())})") from error
    if not isinstance(data, dict) or not data:
        raise BadOption(f"{path}: want groups by name, each with categories")
    return {_name(path, name): _categories(path, name, group) for name, group in data.items()}


def _name(path: Path, name: Any) -> str:
    if not isinstance(name, str) or name in ("", "human", "task", "form"):
        raise BadOption(f"{path}: {name!r} can be no group's name")
    return name


def _categories(path: Path, name: str, group: Any) -> tuple[str, ...]:
    listed = group.get("categories") if isinstance(group, Mapping) else None
    names = [one.get("name") if isinstance(one, Mapping) else one for one in listed or ()]
    if not 2 <= len(names) <= 8 or not all(isinstance(one, str) and one for one in names):
        raise BadOption(f"{path}: {name}: want 2 to 8 categories, each a name")
    if UNKNOWN.value in names:
        raise BadOption(f"{path}: {name}: {UNKNOWN.value!r} is what people answer who cannot tell")
    if len(set(names)) < len(names):
        raise BadOption(f"{path}: {name}: a category is there twice")
    return tuple(names)
