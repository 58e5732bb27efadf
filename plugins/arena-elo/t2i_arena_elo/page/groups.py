"""Groups that people are sorted by in what others see: the paper's, or a file that the metric bias reads too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from t2i_core.api.errors import BadOption
from t2i_core.io.yaml_file import read_mapping

from .questions import UNKNOWN

PAPER = {"gender": ("male", "female"), "race": ("White", "Black", "Hispanic", "Asian")}
"""DALL-Eval's categories: apparent, few, and seen from the United States."""


UNDECIDED = frozenset({UNKNOWN.value, "unclear", "unsure", "none", "neither", "other"})
"""What the metric bias reads as an answer of one who cannot tell: no category can be called so."""


def read_groups(which: str) -> dict[str, tuple[str, ...]]:
    """Return categories by group: of `paper`, or of a YAML file with `categories` by group.

    Each category is a name or an object with one. Raises BadOption in one line.
    """
    if which == "paper":
        return dict(PAPER)
    path = Path(which)
    data = read_mapping(path, BadOption, "groups by name, each with categories")
    return {_name(path, name): _categories(path, name, group) for name, group in data.items()}


def _name(path: Path, name: Any) -> str:
    # fields of the page's own forms; and what the metric bias takes for no name
    if (
        not isinstance(name, str)
        or name in ("human", "task", "form")
        or not re.fullmatch(r"\S([^:]*[^\s:])?", name)
    ):
        raise BadOption(f"{path}: {name!r} can be no group's name")
    return name


def _categories(path: Path, name: str, group: Any) -> tuple[str, ...]:
    listed = group.get("categories") if isinstance(group, Mapping) else None
    listed = listed if isinstance(listed, list) else []
    names = [one.get("name") if isinstance(one, Mapping) else one for one in listed]
    if not 2 <= len(names) <= 8 or not all(isinstance(one, str) and one and one == one.strip() for one in names):
        raise BadOption(f"{path}: {name}: want 2 to 8 categories, each a name")
    said = [one.lower() for one in names]  # answers are told apart without their capitals
    if unclear := next((one for one in said if one in UNDECIDED), None):
        raise BadOption(f"{path}: {name}: {unclear!r} is what people answer who cannot tell")
    if len(set(said)) < len(said):
        raise BadOption(f"{path}: {name}: a category is there twice")
    return tuple(names)
